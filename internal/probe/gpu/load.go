package gpu

import (
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

// load are clocks, power and the other figures that are one call each.
var load = []question{
	{"clocks.graphics.mhz", false, kind((*nvml.NVML).Clock, nvml.ClockGraphics)},
	{"clocks.sm.mhz", true, kind((*nvml.NVML).Clock, nvml.ClockSM)},
	{"clocks.memory.mhz", false, kind((*nvml.NVML).Clock, nvml.ClockMem)},
	{"clocks.video.mhz", false, kind((*nvml.NVML).Clock, nvml.ClockVideo)},
	{"clocks.max.graphics.mhz", false, kind((*nvml.NVML).MaxClock, nvml.ClockGraphics)},
	{"clocks.max.sm.mhz", true, kind((*nvml.NVML).MaxClock, nvml.ClockSM)},
	{"clocks.max.memory.mhz", false, kind((*nvml.NVML).MaxClock, nvml.ClockMem)},
	{"clocks.applications.graphics.mhz", false, kind((*nvml.NVML).ApplicationsClock, nvml.ClockGraphics)},
	{"clocks.applications.memory.mhz", false, kind((*nvml.NVML).ApplicationsClock, nvml.ClockMem)},
	{"fan.speed.percent", false, of((*nvml.NVML).FanSpeed)},
	{"power.draw.watts", true, as((*nvml.NVML).PowerUsage, watts)},
	{"power.limit.watts", true, as((*nvml.NVML).PowerLimit, watts)},
	{"power.limit.enforced.watts", true, as((*nvml.NVML).EnforcedPowerLimit, watts)},
	{"power.limit.default.watts", false, as((*nvml.NVML).DefaultPowerLimit, watts)},
	{"temperature.gpu.celsius", true, of((*nvml.NVML).Temperature)},
	{"utilization.encoder.percent", false, of((*nvml.NVML).EncoderUtilization)},
	{"utilization.decoder.percent", false, of((*nvml.NVML).DecoderUtilization)},
	{"utilization.jpeg.percent", false, of((*nvml.NVML).JPEGUtilization)},
	{"utilization.ofa.percent", false, of((*nvml.NVML).OFAUtilization)},
}

func (r *reader) utilization() {
	v, err := r.n.Utilization(r.d)
	if err != nil {
		r.putAll(err, "utilization.gpu.percent", "utilization.memory.percent")
		return
	}
	r.w.Value("utilization.gpu.percent", v.GPU)
	r.w.Value("utilization.memory.percent", v.Memory)
}

var reasons = []struct {
	bit  uint64
	name string
}{
	{nvml.ReasonGPUIdle, "gpu_idle"}, {nvml.ReasonApplicationClocks, "applications_clocks_setting"}, {nvml.ReasonSWPowerCap, "sw_power_cap"},
	{nvml.ReasonHWSlowdown, "hw_slowdown"}, {nvml.ReasonSyncBoost, "sync_boost"}, {nvml.ReasonSWThermal, "sw_thermal_slowdown"},
	{nvml.ReasonHWThermal, "hw_thermal_slowdown"}, {nvml.ReasonHWPowerBrake, "hw_power_brake_slowdown"}, {nvml.ReasonDisplayClock, "display_clock_setting"},
}

// reasons are why the clocks are what they are, and for how long that was so.
func (r *reader) reasons() {
	mask, err := r.n.EventReasons(r.d)
	for _, reason := range reasons {
		v := "not active"
		if mask&reason.bit != 0 {
			v = "active"
		}
		if !r.gone {
			r.put("clocks_event_reasons."+reason.name, v, err)
		}
	}
	if !r.full || r.gone {
		return
	}
	keys := []string{"sw_power_cap", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}
	v, err := r.n.Fields(r.d, nvml.Field{ID: nvml.FieldPerfPolicyPower}, nvml.Field{ID: nvml.FieldPerfPolicySyncBoost},
		nvml.Field{ID: nvml.FieldSWThermalSlowdown}, nvml.Field{ID: nvml.FieldHWThermalSlowdown}, nvml.Field{ID: nvml.FieldHWPowerBrake})
	for i, key := range keys {
		key = "clocks_event_reasons_counters." + key + ".us"
		if err != nil {
			r.putAll(err, key)
			continue
		}
		r.field(key, v[i], func(v nvml.FieldValue) any { return v.Uint() / uint64(time.Microsecond) })
	}
}

// temperatures are limits and margins. Products from Ada and Hopper on give margins; for
// the others the driver gives temperatures. Where both answer only the margin is taken:
// NVIDIA calls the temperatures obsolete there.
func (r *reader) temperatures() {
	margin, err := r.n.Margin(r.d)
	r.put("temperature.gpu.tlimit.celsius", margin, err)
	if r.gone {
		return
	}
	fields := []struct {
		id  uint32
		key string
	}{
		{nvml.FieldMemoryTemp, "temperature.memory.celsius"},
		{nvml.FieldShutdownTLimit, "temperature.gpu.shutdown_tlimit.celsius"}, {nvml.FieldSlowdownTLimit, "temperature.gpu.slowdown_tlimit.celsius"},
		{nvml.FieldGPUMaxTLimit, "temperature.gpu.max_operating_tlimit.celsius"}, {nvml.FieldMemMaxTLimit, "temperature.memory.max_operating_tlimit.celsius"},
	}
	var asked []nvml.Field
	for _, f := range fields {
		asked = append(asked, nvml.Field{ID: f.id})
	}
	v, err := r.n.Fields(r.d, asked...)
	margins := false
	for i, f := range fields {
		if err != nil {
			r.putAll(err, f.key)
			continue
		}
		r.field(f.key, v[i], signed)
		margins = margins || i > 0 && v[i].Code == nvml.Success
	}
	if !margins {
		r.thresholds()
	}
}

func (r *reader) thresholds() {
	for _, t := range []struct {
		which uint32
		key   string
	}{
		{nvml.ThresholdShutdown, "temperature.gpu.shutdown.celsius"}, {nvml.ThresholdSlowdown, "temperature.gpu.slowdown.celsius"},
		{nvml.ThresholdGPUMax, "temperature.gpu.max_operating.celsius"}, {nvml.ThresholdMemMax, "temperature.memory.max_operating.celsius"},
	} {
		if r.gone {
			return
		}
		v, err := r.n.Threshold(r.d, t.which)
		if err == nil && v == 0 { // would read as a limit that every GPU exceeds
			r.w.Absent(t.key, "nvmlDeviceGetTemperatureThreshold: 0")
			continue
		}
		r.put(t.key, v, err)
	}
}

func (r *reader) powerFields() {
	if !r.full {
		return
	}
	v, err := r.n.Fields(r.d, nvml.Field{ID: nvml.FieldPowerAverage}, nvml.Field{ID: nvml.FieldPowerInstant})
	if err != nil {
		r.putAll(err, "power.draw.average.watts", "power.draw.instant.watts")
		return
	}
	form := func(v nvml.FieldValue) any { return watts(uint32(v.Uint())) }
	r.field("power.draw.average.watts", v[0], form)
	r.field("power.draw.instant.watts", v[1], form)
}

func (r *reader) powerBounds() {
	if !r.full {
		return
	}
	lowest, highest, err := r.n.PowerLimits(r.d)
	r.put("power.limit.min.watts", watts(lowest), err)
	if !r.gone {
		r.put("power.limit.max.watts", watts(highest), err)
	}
}
