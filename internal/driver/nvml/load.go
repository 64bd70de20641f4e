package nvml

// Load, clocks, power and temperature.

// Utilization is the share of the last sample period in which the GPU and its memory
// were in use.
func (n *NVML) Utilization(d Device) (Utilization, error) {
	return value[Utilization](n, d, "nvmlDeviceGetUtilizationRates")
}

// EncoderUtilization and its sisters are percent of time in use.
func (n *NVML) EncoderUtilization(d Device) (uint32, error) {
	return n.engine(d, "nvmlDeviceGetEncoderUtilization")
}

func (n *NVML) DecoderUtilization(d Device) (uint32, error) {
	return n.engine(d, "nvmlDeviceGetDecoderUtilization")
}

func (n *NVML) JPEGUtilization(d Device) (uint32, error) {
	return n.engine(d, "nvmlDeviceGetJpgUtilization")
}

func (n *NVML) OFAUtilization(d Device) (uint32, error) {
	return n.engine(d, "nvmlDeviceGetOfaUtilization")
}

func (n *NVML) engine(d Device, name string) (uint32, error) {
	v, _, err := pair[uint32, uint32](n, d, name)
	return v, err
}

// Clock is a clock now, in MHz.
func (n *NVML) Clock(d Device, clock uint32) (uint32, error) {
	return chosen[uint32](n, d, clock, "nvmlDeviceGetClockInfo")
}

// MaxClock is the highest that the board runs at.
func (n *NVML) MaxClock(d Device, clock uint32) (uint32, error) {
	return chosen[uint32](n, d, clock, "nvmlDeviceGetMaxClockInfo")
}

// ApplicationsClock is what an administrator asked for.
func (n *NVML) ApplicationsClock(d Device, clock uint32) (uint32, error) {
	return chosen[uint32](n, d, clock, "nvmlDeviceGetApplicationsClock")
}

// EventReasons are the bits of why the clocks are what they are.
func (n *NVML) EventReasons(d Device) (uint64, error) {
	return value[uint64](n, d, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
}

// FanSpeed is the intended speed of the fans in percent.
func (n *NVML) FanSpeed(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetFanSpeed")
}

// PowerUsage is in milliwatts, as are its sisters.
func (n *NVML) PowerUsage(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetPowerUsage")
}

// PowerLimit is the limit that was asked for.
func (n *NVML) PowerLimit(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetPowerManagementLimit")
}

// EnforcedPowerLimit is the lowest of all limits in force.
func (n *NVML) EnforcedPowerLimit(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetEnforcedPowerLimit")
}

// DefaultPowerLimit is the limit that the board starts with.
func (n *NVML) DefaultPowerLimit(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetPowerManagementDefaultLimit")
}

// PowerLimits are the lowest and the highest limit that can be set.
func (n *NVML) PowerLimits(d Device) (lowest, highest uint32, err error) {
	return pair[uint32, uint32](n, d, "nvmlDeviceGetPowerManagementLimitConstraints")
}

// Temperature of the GPU's die.
func (n *NVML) Temperature(d Device) (int32, error) {
	v := Temperature{Version: VersionOf[Temperature](1)}
	err := get(n, d, &v, "nvmlDeviceGetTemperatureV")
	if !IsAbsent(err) {
		return v.Celsius, err
	}
	old, err := chosen[uint32](n, d, 0, "nvmlDeviceGetTemperature")
	return int32(old), err
}

// Threshold is a temperature at which something happens (before Ada and Hopper; later
// products give margins).
func (n *NVML) Threshold(d Device, threshold uint32) (uint32, error) {
	return chosen[uint32](n, d, threshold, "nvmlDeviceGetTemperatureThreshold")
}

// Margin is how many degrees are left to the nearest limit.
func (n *NVML) Margin(d Device) (int32, error) {
	v := MarginTemperature{Version: VersionOf[MarginTemperature](1)}
	err := get(n, d, &v, "nvmlDeviceGetMarginTemperature")
	return v.Celsius, err
}
