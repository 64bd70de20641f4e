package burn

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

// RateOptions say what is measured: the rates of one GPU, or with Peers those between each
// pair of several.
type RateOptions struct {
	PCI   string   `json:"pci"`
	Peers []string `json:"peers,omitempty"`
	// Buffer is how many bytes a copy moves; 0 chooses.
	Buffer uint64 `json:"buffer,omitempty"`
}

// A Rate is one measured transfer rate.
type Rate struct {
	// Name: device_read, device_write, device_copy, host_to_device, device_to_host,
	// host_both (the sum of both directions at once), peer.
	Name string `json:"name"`
	PCI  string `json:"pci"`
	From string `json:"from,omitempty"` // the peer that sends
	// Bytes per second: the median of the samples. A copy inside the GPU counts the bytes
	// read and the bytes written.
	Rate    float64 `json:"bytes_per_s"`
	Best    float64 `json:"best_bytes_per_s"`
	Samples int     `json:"samples"`
	Bytes   uint64  `json:"bytes"` // moved by one sample
	// Verified bytes were compared after the copy; Wrong words of 4 bytes differed.
	Verified uint64 `json:"verified_bytes"`
	Wrong    uint64 `json:"wrong_words"`
	Direct   *bool  `json:"direct,omitempty"` // peer: without a detour over host memory
}

const samples = 9

type bandwidth struct {
	*gpu
	o    RateOptions
	e    *emitter
	buf  uint64 // bytes
	a, b cuda.Ptr
	done int
	all  int
}

func (t *bandwidth) run(ctx context.Context) error {
	free, _, err := t.MemInfo()
	if err != nil {
		return err
	}
	// Many times the cache, so that it does not flatter the memory.
	t.buf = min(8<<30, free/3) / page * page
	if t.o.Buffer > 0 {
		t.buf = min(t.o.Buffer, t.buf)
	}
	if t.buf < 2*t.Device.L2 || t.buf == 0 {
		return fmt.Errorf("%w: %d MiB are free", errSmall, free>>20)
	}
	if t.a, err = t.Alloc(t.buf); err != nil {
		return err
	}
	if t.b, err = t.Alloc(t.buf); err != nil {
		return err
	}
	t.all = 6
	for _, m := range []func() (Rate, error){t.deviceWrite, t.deviceRead, t.deviceCopy, t.hostToDevice, t.deviceToHost, t.hostBoth} {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := m()
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		r.PCI = t.Device.PCI
		t.done++
		t.e.emit(event{Rates: []Rate{r}})
		t.e.progress(Progress{Step: r.Name, Share: float64(t.done) / float64(t.all), Rate: r.Rate / 1e9, Unit: "GB/s", Errors: r.Wrong})
	}
	return t.e.err
}

// sample measures n transfers of size bytes each, after one that warms up, and fills in
// median and best.
func (t *bandwidth) sample(r *Rate, size uint64, launch func() error) error {
	var rates []float64
	for i := range samples + 1 {
		took, err := t.timed(launch)
		if err != nil {
			return err
		}
		if i > 0 && took > 0 {
			rates = append(rates, float64(size)/took.Seconds())
		}
	}
	r.fill(rates, size)
	return nil
}

func (r *Rate) fill(rates []float64, size uint64) {
	r.Bytes, r.Samples = size, len(rates)
	if len(rates) == 0 {
		return
	}
	slices.Sort(rates)
	r.Rate, r.Best = rates[len(rates)/2], rates[len(rates)-1]
}

func randomData(seed uint32) Pattern { return Pattern{Name: "random", Kind: kindHash, S: seed} }

// verify counts the words of a buffer that are not the pattern's.
func (t *bandwidth) verify(r *Rate, at cuda.Ptr, n uint64, p Pattern) error {
	if err := t.clear(); err != nil {
		return err
	}
	if err := t.check(chunk{at: at, bytes: n}, p, 0, 0); err != nil {
		return err
	}
	if err := t.stream.Synchronize(); err != nil {
		return err
	}
	c, err := t.counts()
	if err != nil {
		return err
	}
	if c.Checked*vector != n {
		return fmt.Errorf("verify: %d of %d bytes were compared", c.Checked*vector, n)
	}
	r.Verified += n
	r.Wrong += c.Words
	return nil
}

func (t *bandwidth) deviceWrite() (Rate, error) {
	r := Rate{Name: "device_write"}
	p := randomData(1)
	if err := t.sample(&r, t.buf, func() error { return t.fill(chunk{at: t.a, bytes: t.buf}, p) }); err != nil {
		return r, err
	}
	return r, t.verify(&r, t.a, t.buf, p)
}

func (t *bandwidth) deviceRead() (Rate, error) {
	r := Rate{Name: "device_read"}
	return r, t.sample(&r, t.buf, func() error { return t.gpu.read(t.a, t.buf) })
}

func (t *bandwidth) deviceCopy() (Rate, error) {
	r := Rate{Name: "device_copy"}
	p := randomData(2)
	if err := t.fill(chunk{at: t.a, bytes: t.buf}, p); err != nil {
		return r, err
	}
	if err := t.sample(&r, 2*t.buf, func() error { return t.stream.Copy(t.b, t.a, t.buf) }); err != nil {
		return r, err
	}
	return r, t.verify(&r, t.b, t.buf, p)
}

// hostBytes is the size of a copy between host and GPU.
func (t *bandwidth) hostBytes() uint64 { return min(256<<20, t.buf) }

func (t *bandwidth) hostToDevice() (Rate, error) {
	r := Rate{Name: "host_to_device"}
	n := t.hostBytes()
	host, err := t.AllocHost(int(n))
	if err != nil {
		return r, err
	}
	defer func() { _ = t.FreeHost(host) }()
	p := randomData(3)
	for v := range n / vector {
		w := p.Vector(v)
		for j := range w {
			binary.LittleEndian.PutUint32(host[v*vector+uint64(j)*4:], w[j])
		}
	}
	if err := t.sample(&r, n, func() error { return t.stream.ToDevice(t.a, host) }); err != nil {
		return r, err
	}
	return r, t.verify(&r, t.a, n, p)
}

func (t *bandwidth) deviceToHost() (Rate, error) {
	r := Rate{Name: "device_to_host"}
	n := t.hostBytes()
	host, err := t.AllocHost(int(n))
	if err != nil {
		return r, err
	}
	defer func() { _ = t.FreeHost(host) }()
	p := randomData(4)
	if err := t.fill(chunk{at: t.a, bytes: n}, p); err != nil {
		return r, err
	}
	if err := t.sample(&r, n, func() error { return t.stream.ToHost(host, t.a) }); err != nil {
		return r, err
	}
	for v := range n / vector {
		for j, w := range p.Vector(v) {
			if binary.LittleEndian.Uint32(host[v*vector+uint64(j)*4:]) != w {
				r.Wrong++
			}
		}
	}
	r.Verified = n
	return r, nil
}

// hostBoth copies in both directions at once, on two streams.
func (t *bandwidth) hostBoth() (Rate, error) {
	r := Rate{Name: "host_both"}
	n := t.hostBytes()
	up, err := t.AllocHost(int(n))
	if err != nil {
		return r, err
	}
	defer func() { _ = t.FreeHost(up) }()
	down, err := t.AllocHost(int(n))
	if err != nil {
		return r, err
	}
	defer func() { _ = t.FreeHost(down) }()
	var ways [2]*cuda.Stream
	for i := range ways {
		if ways[i], err = t.StreamApart(); err != nil {
			return r, err
		}
		defer func() { _ = ways[i].Destroy() }()
	}
	const times = 8 // the clock is the host's: long enough that its calls do not count
	var rates []float64
	for i := range samples + 1 {
		begun := time.Now()
		for range times {
			if err := ways[0].ToDevice(t.a, up); err != nil {
				return r, err
			}
			if err := ways[1].ToHost(down, t.b); err != nil {
				return r, err
			}
		}
		for _, s := range ways {
			if err := s.Synchronize(); err != nil {
				return r, err
			}
		}
		if i > 0 {
			rates = append(rates, float64(2*times*n)/time.Since(begun).Seconds())
		}
	}
	r.fill(rates, 2*times*n)
	return r, nil
}
