// Package series reads the curves of a training log: memory, loss, gradient norm and
// loss scale by step and rank, and judges them: steady growth of memory, a loss that
// turned into NaN, a loss scale that fell to its floor, divergence, a resume or an
// evaluation that ran out of memory at once, and what batch would have fitted.
//
// It is pure: [Collector.Line] takes messages (framing already stripped) with their
// rank and line number, [Collector.Signals] gives signals. The collector of one input
// keeps a bounded number of points a curve, so a log of any length costs the same.
//
// # Forms
//
// Names and values are found wherever they stand in a line, so that one reader serves
// Lightning's progress bars, dictionaries of the Hugging Face Trainer, DeepSpeed,
// Megatron ("iteration 100/ 5000 | … | lm loss: 2.1E+00 | grad norm: 1.3"), nanoGPT,
// fairseq, Keras and plain prints. A name counts only as a whole word of a fixed list:
// `nan_count`, `nan_to_num`, `loss_weight` or `overflow: False` say nothing.
//
// # Judgements
//
// Growth: the slope of Theil and Sen, robust against outliers, after the warm-up is
// left out; it must be large, steady (most steps rise), and as steep in the second
// half as in the first, since a pool that fills up flattens. NaN: the curve must end
// in it; one skipped step of mixed precision is normal. Scale: a fall by 2^8 or more
// that ends at 1 or below, or at zero. Divergence: the end of the curve far above both
// its best and its beginning, sustained.
package series
