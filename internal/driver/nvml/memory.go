package nvml

// Memory and its health.

// Memory is the use of the GPU's memory. On a driver without the current call, Used
// includes what is reserved and Reserved is zero with old set.
func (n *NVML) Memory(d Device) (m MemoryInfo, old bool, err error) {
	m.Version = VersionOf[MemoryInfo](2)
	if err = get(n, d, &m, "nvmlDeviceGetMemoryInfo_v2"); !IsAbsent(err) {
		return m, false, err
	}
	v1, err1 := value[MemoryV1](n, d, "nvmlDeviceGetMemoryInfo")
	if err1 != nil {
		return m, false, err1
	}
	return MemoryInfo{Total: v1.Total, Free: v1.Free, Used: v1.Used}, true, nil
}

// BAR1 is the window through which the host reaches that memory.
func (n *NVML) BAR1(d Device) (BAR1Memory, error) {
	return value[BAR1Memory](n, d, "nvmlDeviceGetBAR1MemoryInfo")
}

// ECCMode is the mode now and after the next reset.
func (n *NVML) ECCMode(d Device) (current, pending bool, err error) {
	a, b, err := pair[uint32, uint32](n, d, "nvmlDeviceGetEccMode")
	return a != 0, b != 0, err
}

// ECCTotal counts the errors of a kind, over all parts.
func (n *NVML) ECCTotal(d Device, kind, counter uint32) (uint64, error) {
	const name = "nvmlDeviceGetTotalEccErrors"
	f, _ := use[func(Device, uint32, uint32, *uint64) Return](n, name)
	if f == nil {
		return 0, missing(name)
	}
	var v uint64
	n.begin(name)
	err := result(name, f(d, kind, counter, &v))
	return v, err
}

// ECCErrors counts the errors of a kind in one part.
func (n *NVML) ECCErrors(d Device, kind, counter, location uint32) (uint64, error) {
	const name = "nvmlDeviceGetMemoryErrorCounter"
	f, _ := use[func(Device, uint32, uint32, uint32, *uint64) Return](n, name)
	if f == nil {
		return 0, missing(name)
	}
	var v uint64
	n.begin(name)
	err := ofKind(name, f(d, kind, counter, location, &v))
	return v, err
}

// SramErrors are the errors of the GPU's caches and register files; needs root.
func (n *NVML) SramErrors(d Device) (SramEccErrorStatus, error) {
	v := SramEccErrorStatus{Version: VersionOf[SramEccErrorStatus](1)}
	err := get(n, d, &v, "nvmlDeviceGetSramEccErrorStatus")
	return v, err
}

// Repairs says which repairs wait for a reset.
func (n *NVML) Repairs(d Device) (RepairStatus, error) {
	v := RepairStatus{Version: VersionOf[RepairStatus](1)}
	err := get(n, d, &v, "nvmlDeviceGetRepairStatus")
	return v, err
}

// Unrepairable says that memory is beyond repair.
func (n *NVML) Unrepairable(d Device) (bool, error) {
	v, err := value[UnrepairableMemory](n, d, "nvmlDeviceGetUnrepairableMemoryFlag_v1")
	return v.Flag != 0, err
}

// RetiredPages counts the pages that were taken out of use for a cause.
func (n *NVML) RetiredPages(d Device, cause uint32) (uint32, error) {
	const name = "nvmlDeviceGetRetiredPages"
	f, _ := use[func(Device, uint32, *uint32, *uint64) Return](n, name)
	if f == nil {
		return 0, missing(name)
	}
	var v uint32
	n.begin(name)
	r := f(d, cause, &v, nil)
	if r == InsufficientSize { // asked for the count only
		r = Success
	}
	return v, ofKind(name, r)
}

// RetirementPending says that pages wait for a reset to be taken out of use.
func (n *NVML) RetirementPending(d Device) (bool, error) {
	v, err := value[uint32](n, d, "nvmlDeviceGetRetiredPagesPendingStatus")
	return v != 0, err
}

// RemappedRows counts the rows that spare ones replaced. On a driver without the current
// call only the active ones are counted, and old is set.
func (n *NVML) RemappedRows(d Device) (v RemappedRows, old bool, err error) {
	if err = get(n, d, &v, "nvmlDeviceGetRemappedRows_v2"); !IsAbsent(err) {
		return v, false, err
	}
	const name = "nvmlDeviceGetRemappedRows"
	f, _ := use[func(d Device, cor, unc, pending, failure *uint32) Return](n, name)
	if f == nil {
		return v, false, missing(name)
	}
	n.begin(name)
	err = result(name, f(d, &v.CorrectableActive, &v.UncorrectableActive, &v.Pending, &v.Failure))
	return v, true, err
}

// RemapHistogram counts the memory banks by the spare rows that they have left.
func (n *NVML) RemapHistogram(d Device) (RowRemapperHistogram, error) {
	return value[RowRemapperHistogram](n, d, "nvmlDeviceGetRowRemapperHistogram")
}
