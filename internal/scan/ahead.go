package scan

import (
	"sync"

	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/source"
)

// feed brings the blocks of an input, examined, in order.
type feed interface {
	next() *block // nil at the end
	free(b source.Block)
	close()
}

// inTurn reads and examines each block when it is asked for.
type inTurn struct {
	rd   *source.Reader
	x    *examiner
	rows int
}

func (f *inTurn) next() *block {
	b := readBlock(f.rd, &f.rows)
	if b != nil {
		f.x.examine(b)
	}
	return b
}

func (f *inTurn) free(b source.Block) { f.rd.Free(b) }
func (f *inTurn) close()              {}

func readBlock(rd *source.Reader, rows *int) *block {
	sb, err := rd.Next()
	if err != nil {
		return nil
	}
	b := &block{Block: sb, firstRow: *rows}
	*rows += sb.Rows
	return b
}

// ahead reads in a goroutine of its own and has several blocks examined at a time. Who
// takes them sees the same blocks in the same order.
type ahead struct {
	queue chan *examining // in the order of the input
	back  chan source.Block
	stop  chan struct{}
	once  sync.Once
}

type examining struct {
	b    *block
	done chan struct{}
}

// newAhead starts reading with so many examiners. Blocks in work are bounded by twice
// their number.
func newAhead(rd *source.Reader, s *Scanner, fr *frame.Framer, workers int) *ahead {
	f := &ahead{queue: make(chan *examining, workers), back: make(chan source.Block, 4), stop: make(chan struct{})}
	work := make(chan *examining)
	for range workers {
		go func() {
			x := newExaminer(s, fr)
			for e := range work {
				x.examine(e.b)
				close(e.done)
			}
		}()
	}
	go f.read(rd, work)
	return f
}

func (f *ahead) read(rd *source.Reader, work chan<- *examining) {
	defer close(f.queue)
	defer close(work)
	for rows := 0; ; {
		for more := true; more; {
			select {
			case b := <-f.back:
				rd.Free(b)
			default:
				more = false
			}
		}
		b := readBlock(rd, &rows)
		if b == nil {
			return
		}
		e := &examining{b, make(chan struct{})}
		select {
		case work <- e:
		case <-f.stop:
			return
		}
		select {
		case f.queue <- e:
		case <-f.stop:
			return
		}
	}
}

func (f *ahead) next() *block {
	e, ok := <-f.queue
	if !ok {
		return nil
	}
	<-e.done
	return e.b
}

func (f *ahead) free(b source.Block) {
	select {
	case f.back <- b:
	default: // the collector takes it
	}
}

// close ends the reading and waits for it, so that the reader may be asked what it saw.
func (f *ahead) close() {
	f.once.Do(func() { close(f.stop) })
	for range f.queue {
	}
}
