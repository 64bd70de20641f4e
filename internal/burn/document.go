package burn

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/probe"
)

// Limits are what a product and its link can do at most; 0 is not known.
type Limits struct {
	Memory float64 `json:"memory_gb_s,omitempty"`
	Link   float64 `json:"link_gb_s,omitempty"` // PCIe, one direction, as GPU and slot can do together
}

// Write writes outcomes as a readings document: what the tests found, what the counters
// grew by, and what the driver says of the GPU after the test.
func Write(w *probe.Writer, list []*Outcome) error {
	for _, o := range list {
		w.Subject("gpu", o.GPU.PCI)
		w.Value("uuid", o.GPU.UUID)
		if o.GPU.Name != "" {
			w.Value("name", o.GPU.Name)
		}
		o.write(w)
	}
	return w.Err()
}

func (o *Outcome) write(w *probe.Writer) {
	result, why := o.Result()
	w.Value(o.Test+".result", result)
	if f := o.Failure; f != nil && f.Code != 0 && strings.HasSuffix(why, f.Text) {
		why = fmt.Sprintf("%s answered %d", f.Call, f.Code) // a driver's own words would be read as a program's log
	}
	if why != "" {
		w.Value(o.Test+".why", why)
	}
	if f := o.Failure; f != nil && ofGPU(f.Code) {
		w.Value("cuda.error", f.Code)
	}
	if o.Refused != "" {
		w.Value("test.refused", o.Refused)
	}
	if o.Stuck != nil && !o.Interrupted {
		w.Value("test.hang", cmp.Or(o.Stuck.Call, "the start of the test"))
		w.Value("test.hang.seconds", round(o.Stuck.For.Seconds(), 0))
		w.Value("test.hang.unkillable", o.Stuck.Unkillable)
	}
	o.writeMemory(w)
	o.writeStress(w)
	o.writeRates(w)
	o.writeWatch(w)
}

// ofGPU reports whether a CUDA error says something of the GPU rather than of what the
// test asked for: sticky errors of running work (214, 220, 226, 7xx), an unavailable GPU,
// unknown.
func ofGPU(code int) bool {
	return code == 46 || code == 214 || code == 220 || code == 226 || code >= 700 && code < 720 && code != 704 || code == 999
}

func (o *Outcome) writeMemory(w *probe.Writer) {
	m := o.Memory
	if m == nil {
		return
	}
	w.Value("memtest.mode", m.Mode)
	w.Value("memtest.errors", m.Errors.Words)
	if c := o.Class; c != nil {
		w.Value("memtest.class", c.Kind)
		w.Value("memtest.bits", join(c.Bits))
		w.Value("memtest.first", fmt.Sprintf("%#x", c.First))
		w.Value("memtest.last", fmt.Sprintf("%#x", c.Last))
	}
	w.Value("memtest.tested.mib", m.Tested>>20)
	w.Value("memtest.tested.percent", round(o.share()*100, 2))
	w.Value("memtest.verified.gb", round(float64(m.Verified)/1e9, 1))
	w.Value("memtest.passes", m.Passes)
	w.Value("memtest.write.gbs", round(m.WriteRate/1e9, 1))
	w.Value("memtest.read.gbs", round(m.ReadRate/1e9, 1))
}

// share is how much of the card's memory was under test.
func (o *Outcome) share() float64 {
	if o.Memory == nil {
		return 0
	}
	if t := o.cardBytes(); t > 0 {
		return float64(o.Memory.Tested) / t
	}
	return 0
}

// cardBytes is the memory of the card: the driver keeps a part that CUDA does not count,
// so that NVML's figure is taken where there is one.
func (o *Outcome) cardBytes() float64 {
	if mib, err := strconv.ParseFloat(o.Watch.Before["memory.total.mib"], 64); err == nil && mib > 0 {
		return mib * (1 << 20)
	}
	if o.Memory == nil {
		return 0
	}
	return float64(o.Memory.Total)
}

func (o *Outcome) writeStress(w *probe.Writer) {
	if o.Stress == nil {
		return
	}
	var wrong, nans uint64
	for _, p := range o.Stress.Paths {
		wrong, nans = wrong+p.Wrong, nans+p.NaNs
		w.Value("stress."+p.Name+".tflops", round(p.FLOPs/1e12, 2))
		w.Value("stress."+p.Name+".digest", p.Digest)
	}
	w.Value("stress.errors", wrong+nans)
	if len(o.Mismatches) > 0 {
		sms, lanes := o.whereWrong()
		w.Value("stress.sm", join(sms))
		w.Value("stress.lane", join(lanes))
	}
}

// whereWrong are the SMs and lanes whose digests were wrong.
func (o *Outcome) whereWrong() (sms, lanes []int) {
	a, b := map[int]bool{}, map[int]bool{}
	for _, m := range o.Mismatches {
		a[m.SM], b[m.Lane] = true, true
	}
	return slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))
}

// rateKeys are the readings' names of rates.
var rateKeys = map[string]string{
	"device_write": "write", "device_read": "read", "device_copy": "d2d", "host_to_device": "h2d", "device_to_host": "d2h", "host_both": "both",
}

func (o *Outcome) writeRates(w *probe.Writer) {
	if len(o.Rates) == 0 {
		return
	}
	var wrong uint64
	slowest, from := 0.0, ""
	var peerWrong []string
	for _, r := range o.Rates {
		gbs := r.Rate / 1e9
		if r.Name == "peer" {
			if r.PCI == o.GPU.PCI && (slowest == 0 || gbs < slowest) {
				slowest, from = gbs, r.From
			}
			if r.Wrong > 0 {
				peerWrong = append(peerWrong, r.From+" to "+r.PCI)
			}
			continue
		}
		wrong += r.Wrong
		key := "bandwidth." + rateKeys[r.Name]
		w.Value(key+".gbs", round(gbs, 2))
		if limit := o.limit(r.Name); limit > 0 {
			w.Noted(key+".share.percent", round(gbs/limit*100, 1), fmt.Sprintf("of %.1f GB/s", limit))
		}
	}
	w.Value("bandwidth.errors", wrong)
	if slowest > 0 {
		w.Noted("bandwidth.peer.slowest.gbs", round(slowest, 2), "from "+from)
	}
	if len(peerWrong) > 0 {
		w.Value("bandwidth.peer.wrong", strings.Join(peerWrong, ", "))
	}
}

// limit is the most that a rate can be, 0 where it is not known.
func (o *Outcome) limit(rate string) float64 {
	switch rate {
	case "device_write", "device_read", "device_copy":
		return o.Limits.Memory
	case "host_to_device", "device_to_host":
		return o.Limits.Link
	}
	return 0
}

func (o *Outcome) writeWatch(w *probe.Writer) {
	delta := o.Watch.Delta()
	if len(o.Watch.Before) > 0 && len(o.Watch.After) > 0 {
		for _, what := range []string{"corrected", "uncorrected"} {
			w.Value("test.delta.ecc."+what, total(delta, "ecc."+what+".", "volatile"))
		}
		for _, key := range slices.Sorted(maps.Keys(delta)) {
			if !strings.HasPrefix(key, "ecc.") {
				w.Value("test.delta."+key, delta[key])
			}
		}
	}
	l := o.Watch.Load()
	if l.Samples == 0 {
		return
	}
	if o.Stress != nil {
		for _, p := range o.Stress.Paths {
			if l := o.Watch.Between(p.From, p.To); l.Samples > 0 {
				w.Value("stress."+p.Name+".watts", round(l.Power, 1))
			}
		}
	}
	w.Value("power.draw.watts", round(l.Power, 1))
	w.Value("clocks.sm.mhz", l.SMClock)
	w.Value("temperature.gpu.celsius", l.Temperature)
	for _, r := range l.Reasons {
		w.Noted("clocks_event_reasons."+r, "active", "while the test ran")
	}
	if l.LinkGen > 0 {
		w.Noted("pcie.link.gen.current", l.LinkGen, "while the test ran")
		w.Noted("pcie.link.width.current", l.LinkWidth, "while the test ran")
	}
}

func join(list []int) string {
	var b []string
	for _, n := range list {
		b = append(b, strconv.Itoa(n))
	}
	return strings.Join(b, ",")
}

// round cuts a figure to n digits behind the point: more would be noise.
func round(v float64, n int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', n, 64), 64)
	return r
}
