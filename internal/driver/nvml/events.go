package nvml

import "time"

// An EventSet receives events of the GPUs that were registered with it.
type EventSet uintptr

// NewEvents makes an event set; FreeEvents has to follow.
func (n *NVML) NewEvents() (EventSet, error) {
	const name = "nvmlEventSetCreate"
	f, _ := use[func(*EventSet) Return](n, name)
	if f == nil {
		return 0, missing(name)
	}
	var s EventSet
	n.begin(name)
	err := result(name, f(&s))
	return s, err
}

// SupportedEvents are the events that a GPU can send.
func (n *NVML) SupportedEvents(d Device) (uint64, error) {
	return value[uint64](n, d, "nvmlDeviceGetSupportedEventTypes")
}

// Register asks for events of a GPU.
func (n *NVML) Register(d Device, events uint64, s EventSet) error {
	const name = "nvmlDeviceRegisterEvents"
	f, _ := use[func(Device, uint64, EventSet) Return](n, name)
	if f == nil {
		return missing(name)
	}
	n.begin(name)
	return result(name, f(d, events, s))
}

// Wait gives the next event. The code Timeout says that none came.
func (n *NVML) Wait(s EventSet, timeout time.Duration) (EventData, error) {
	var e EventData
	f, name := use[func(EventSet, *EventData, uint32) Return](n, "nvmlEventSetWait_v2")
	if f == nil {
		return e, missing(name)
	}
	n.begin(name)
	err := result(name, f(s, &e, uint32(timeout.Milliseconds())))
	return e, err
}

// FreeEvents ends an event set.
func (n *NVML) FreeEvents(s EventSet) error {
	const name = "nvmlEventSetFree"
	f, _ := use[func(EventSet) Return](n, name)
	if f == nil {
		return missing(name)
	}
	n.begin(name)
	return result(name, f(s))
}
