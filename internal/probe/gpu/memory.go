package gpu

import "github.com/gpumedic/gpumedic/internal/driver/nvml"

func (r *reader) memory() {
	m, old, err := r.n.Memory(r.d)
	if err != nil {
		r.putAll(err, "memory.total.mib", "memory.used.mib", "memory.free.mib")
	} else {
		r.w.Value("memory.total.mib", mib(m.Total))
		if old {
			r.w.Absent("memory.reserved.mib", "nvmlDeviceGetMemoryInfo_v2: not in this driver version; used includes it")
		} else {
			r.w.Value("memory.reserved.mib", mib(m.Reserved))
		}
		r.w.Value("memory.used.mib", mib(m.Used))
		r.w.Value("memory.free.mib", mib(m.Free))
	}
	if r.gone || !r.full {
		return
	}
	b, err := r.n.BAR1(r.d)
	if err != nil {
		r.putAll(err, "bar1.total.mib", "bar1.used.mib", "bar1.free.mib")
		return
	}
	r.w.Value("bar1.total.mib", mib(b.Total))
	r.w.Value("bar1.used.mib", mib(b.Used))
	r.w.Value("bar1.free.mib", mib(b.Free))
}

var (
	eccKinds = []struct {
		which uint32
		name  string
	}{{nvml.ErrorCorrected, "corrected"}, {nvml.ErrorUncorrected, "uncorrected"}}
	eccSpans = []struct {
		which uint32
		name  string
	}{{nvml.CounterVolatile, "volatile"}, {nvml.CounterAggregate, "aggregate"}}
	eccParts = []struct {
		which uint32
		name  string
	}{
		{nvml.LocationDRAM, "dram"}, {nvml.LocationSRAM, "sram"}, {nvml.LocationRegisterFile, "register_file"}, {nvml.LocationL1Cache, "l1_cache"},
		{nvml.LocationL2Cache, "l2_cache"}, {nvml.LocationTextureMemory, "texture_memory"}, {nvml.LocationCBU, "cbu"},
	}
)

// ecc counts memory errors. A total that the driver does not give is left out, not
// absent: judging then adds the parts.
func (r *reader) ecc() {
	for _, kind := range eccKinds {
		for _, span := range eccSpans {
			if r.gone {
				return
			}
			prefix := "ecc." + kind.name + "." + span.name + "."
			v, err := r.n.ECCTotal(r.d, kind.which, span.which)
			none := nvml.IsAbsent(err)
			if !none || r.noECC {
				r.put(prefix+"total", v, err)
			}
			if r.noECC || !r.full && !none {
				continue
			}
			for _, part := range eccParts {
				if r.gone {
					return
				}
				v, err := r.n.ECCErrors(r.d, kind.which, span.which, part.which)
				r.put(prefix+part.name, v, err)
			}
		}
	}
}

// sram tells the errors of the on-chip memories apart, and whether they are too many.
func (r *reader) sram() {
	s, err := r.n.SramErrors(r.d)
	if err != nil {
		r.putAll(err, "ecc.sram_threshold_exceeded")
		return
	}
	r.w.Value("ecc.sram_threshold_exceeded", yes(s.ThresholdExceeded))
	if r.full {
		r.w.Value("ecc.uncorrected.volatile.sram.parity", s.VolatileUncParity)
		r.w.Value("ecc.uncorrected.volatile.sram.secded", s.VolatileUncSecDed)
		r.w.Value("ecc.uncorrected.aggregate.sram.parity", s.AggregateUncParity)
		r.w.Value("ecc.uncorrected.aggregate.sram.secded", s.AggregateUncSecDed)
	}
}

func (r *reader) repairs() {
	v, err := r.n.Repairs(r.d)
	r.put("channel_repair_pending", yes(v.ChannelPending), err)
	if r.gone {
		return
	}
	r.put("tpc_repair_pending", yes(v.TPCPending), err)
	bad, err := r.n.Unrepairable(r.d)
	r.put("unrepairable_memory", bad, err)
}

// retired are pages of GPU memory taken out of use (before Ampere).
func (r *reader) retired() {
	pending, err := r.n.RetirementPending(r.d)
	r.put("retired_pages.pending", pending, err)
	for _, c := range []struct {
		cause uint32
		key   string
	}{{nvml.RetiredSingleBit, "retired_pages.single_bit"}, {nvml.RetiredDoubleBit, "retired_pages.double_bit"}} {
		if r.gone {
			return
		}
		v, err := r.n.RetiredPages(r.d, c.cause)
		r.put(c.key, v, err)
	}
}

// remapped are rows replaced by spare ones (from Ampere on).
func (r *reader) remapped() {
	v, old, err := r.n.RemappedRows(r.d)
	if err != nil {
		r.putAll(err, "remapped_rows.correctable", "remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure")
		return
	}
	r.w.Value("remapped_rows.correctable", v.CorrectableActive)
	r.w.Value("remapped_rows.uncorrectable", v.UncorrectableActive)
	r.w.Value("remapped_rows.pending", yes(v.Pending))
	r.w.Value("remapped_rows.failure", yes(v.Failure))
	r.inactive(v, old)
	if r.gone || !r.full {
		return
	}
	h, err := r.n.RemapHistogram(r.d)
	for _, b := range []struct {
		key   string
		banks uint32
	}{{"max", h.Max}, {"high", h.High}, {"partial", h.Partial}, {"low", h.Low}, {"none", h.None}} {
		if !r.gone {
			r.put("remapped_rows.histogram."+b.key, b.banks, err)
		}
	}
}

// inactive are remappings that have been taken back.
func (r *reader) inactive(v nvml.RemappedRows, old bool) {
	const cor, unc = "remapped_rows.correctable_inactive", "remapped_rows.uncorrectable_inactive"
	if !old {
		r.w.Value(cor, v.CorrectableInactive)
		r.w.Value(unc, v.UncorrectableInactive)
		return
	}
	if !r.full {
		return
	}
	f, err := r.n.Fields(r.d, nvml.Field{ID: nvml.FieldRemappedCorInactive}, nvml.Field{ID: nvml.FieldRemappedUncInactive})
	if err != nil {
		r.putAll(err, cor, unc)
		return
	}
	r.field(cor, f[0], signed)
	r.field(unc, f[1], signed)
}
