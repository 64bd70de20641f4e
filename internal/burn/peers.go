package burn

import (
	"context"
	"fmt"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

// peers measures the copies between each two GPUs, in each direction, and verifies what
// arrives. All contexts live in one worker: a copy between GPUs needs both.
func peers(ctx context.Context, d *cuda.Driver, o RateOptions, e *emitter) error {
	var all []*bandwidth
	defer func() {
		for _, t := range all {
			_ = t.Close() // the process ends after it
		}
	}()
	for _, pci := range o.Peers {
		g, err := openGPU(d, pci)
		if err != nil {
			return fmt.Errorf("open GPU %s: %w", pci, err)
		}
		t := &bandwidth{gpu: g, o: o, e: e}
		all = append(all, t)
		free, _, err := g.MemInfo()
		if err != nil {
			return err
		}
		t.buf = min(512<<20, free/4) / page * page
		if o.Buffer > 0 {
			t.buf = min(o.Buffer, t.buf)
		}
		if t.buf == 0 {
			return fmt.Errorf("open GPU %s: %w", pci, errSmall)
		}
		if t.a, err = g.Alloc(t.buf); err != nil {
			return err
		}
	}
	done, pairs := 0, len(all)*(len(all)-1)
	for _, to := range all {
		for _, from := range all {
			if to == from {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := to.fromPeer(d, from)
			if err != nil {
				return fmt.Errorf("copy %s to %s: %w", from.Device.PCI, to.Device.PCI, err)
			}
			done++
			e.emit(event{Rates: []Rate{r}})
			e.progress(Progress{Step: "peer " + r.From + " to " + r.PCI, Share: float64(done) / float64(pairs), Rate: r.Rate / 1e9, Unit: "GB/s", Errors: r.Wrong})
		}
	}
	return e.err
}

// fromPeer measures one direction of one pair.
func (t *bandwidth) fromPeer(d *cuda.Driver, from *bandwidth) (Rate, error) {
	r := Rate{Name: "peer", PCI: t.Device.PCI, From: from.Device.PCI}
	direct, err := d.PeerPossible(t.Device, from.Device)
	if err != nil {
		return r, err
	}
	r.Direct = &direct
	if direct {
		if err := t.EnablePeer(from.Context); err != nil {
			return r, err
		}
	}
	n := min(t.buf, from.buf)
	p := randomData(mix(uint32(t.Device.Handle)<<8|uint32(from.Device.Handle), 7))
	if err := from.fill(chunk{at: from.a, bytes: n}, p); err != nil {
		return r, err
	}
	if err := from.stream.Synchronize(); err != nil {
		return r, err
	}
	if err := t.fill(chunk{at: t.a, bytes: n}, p.inverted(ones)); err != nil { // what was there before must not pass
		return r, err
	}
	if err := t.sample(&r, n, func() error { return t.stream.FromPeer(t.a, from.Context, from.a, n) }); err != nil {
		return r, err
	}
	return r, t.verify(&r, t.a, n, p)
}
