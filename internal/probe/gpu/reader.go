package gpu

import (
	"github.com/gpumedic/gpumedic/internal/driver/nvml"
	"github.com/gpumedic/gpumedic/internal/probe"
)

// A reader reads one GPU.
type reader struct {
	n    *nvml.NVML
	w    *probe.Writer
	d    nvml.Device
	pci  string
	full bool
	proc string

	mig []nvml.Device // its instances

	gone    bool // the driver called the GPU lost
	corrupt bool // the InfoROM was called corrupted
	noECC   bool // ECC is off, or the product has none

	uninitialized bool // the library says that it must be opened again
}

// read writes all readings of the GPU.
func (r *reader) read() {
	r.w.Subject("gpu", r.pci)
	r.w.Value("pci", r.pci)
	for _, part := range []func(){
		func() { r.ask(identity) }, r.inforom, r.modes, r.recovery, r.memory,
		func() { r.ask(load) }, r.utilization, r.reasons, r.temperatures, r.powerFields, r.powerBounds,
		r.ecc, r.sram, r.repairs, r.retired, r.remapped,
		func() { r.ask(pcie) }, r.rollovers, r.nvlink, r.fabric, r.migDevices, r.processes,
	} {
		if r.gone {
			return
		}
		part()
	}
}

// question asks for one reading.
type question struct {
	key   string
	quick bool
	get   func(*nvml.NVML, nvml.Device) (any, error)
}

// of makes a question's get of a method.
func of[T any](get func(*nvml.NVML, nvml.Device) (T, error)) func(*nvml.NVML, nvml.Device) (any, error) {
	return func(n *nvml.NVML, d nvml.Device) (any, error) { return get(n, d) }
}

// as is of for a value that is written in another form.
func as[T, U any](get func(*nvml.NVML, nvml.Device) (T, error), form func(T) U) func(*nvml.NVML, nvml.Device) (any, error) {
	return func(n *nvml.NVML, d nvml.Device) (any, error) {
		v, err := get(n, d)
		return form(v), err
	}
}

// kind is of for a method that asks for a kind of thing.
func kind[T any](get func(*nvml.NVML, nvml.Device, uint32) (T, error), which uint32) func(*nvml.NVML, nvml.Device) (any, error) {
	return func(n *nvml.NVML, d nvml.Device) (any, error) { return get(n, d, which) }
}

func (r *reader) ask(questions []question) {
	for _, q := range questions {
		if r.gone {
			return
		}
		if q.quick || r.full {
			v, err := q.get(r.n, r.d)
			r.put(q.key, v, err)
		}
	}
}

// put writes one of the three answers. An empty name or word is absent as well.
func (r *reader) put(key string, v any, err error) {
	switch code := nvml.CodeOf(err); {
	case err == nil && v == "":
		r.w.Absent(key, "empty")
	case err == nil:
		r.w.Value(key, v)
	case nvml.IsAbsent(err):
		r.w.Absent(key, err.Error())
	case code == nvml.GPUIsLost:
		if !r.gone {
			r.w.Unknown("status", "gpu is lost", err.Error())
		}
		r.gone = true
	case code == nvml.ResetRequired:
		r.w.Unknown(key, "gpu requires reset", err.Error())
	case code == nvml.CorruptedInforom:
		r.w.Absent(key, err.Error())
		if !r.corrupt {
			r.w.Noted("inforom.corrupt", true, err.Error())
		}
		r.corrupt = true
	case code == nvml.InsufficientPower: // says why, in place of the value
		r.w.Noted("power.cable", "missing", err.Error())
	default:
		r.uninitialized = r.uninitialized || code == nvml.Uninitialized
		r.w.Unknown(key, "unknown error", err.Error())
	}
}

// putAll writes the same absence or error for several readings.
func (r *reader) putAll(err error, keys ...string) {
	for _, key := range keys {
		if !r.gone {
			r.put(key, "", err)
		}
	}
}

// field writes a field's value as a signed figure.
func (r *reader) field(key string, v nvml.FieldValue, form func(nvml.FieldValue) any) {
	if err := v.Err(); err != nil {
		r.put(key, "", err)
		return
	}
	r.put(key, form(v), nil)
}

func signed(v nvml.FieldValue) any { return v.Int() }

func enabled(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

func yes(on uint32) bool { return on != 0 }

func mib(bytes uint64) uint64 { return (bytes + 1<<19) >> 20 }

// watts keeps the two digits that nvidia-smi shows.
func watts(milliwatts uint32) float64 {
	return float64((uint64(milliwatts)+5)/10) / 100
}
