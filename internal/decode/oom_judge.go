package decode

// Kinds of a refusal, by arithmetic alone.
const (
	oomCapacity      = "capacity"
	oomFragmentation = "fragmentation"
	oomOtherProcess  = "other_process"
	oomSingle        = "single_too_large"
	oomUnderflow     = "underflow"
	oomUnknown       = "unknown"
)

const (
	// fragmentShare is the part of the card that must lie unused in the allocator's
	// hands before fragmentation explains anything. Below it the next request would
	// fail as well: a few hundred MiB are cached in every healthy process.
	fragmentShare = 0.04
	// fragmentStrong is the part from which on fragmentation is plain.
	fragmentStrong = 0.10
	// otherShare is the part of the card that others must hold before they are the
	// answer and not a side remark.
	otherShare = 0.20
)

// judge says why the request failed. Traps: cached memory above the request is normal
// on a full card; the hint about fragmentation is printed always and means nothing;
// free memory above the request is no proof of fragmentation either (another limit,
// or a figure that was read later).
func (m *memory) judge() (kind, why string) {
	switch {
	case m.requested.ok && m.allowed.ok && m.requested.n > m.allowed.n,
		m.requested.ok && m.total.ok && m.requested.n > m.total.n:
		return oomSingle, ""
	case m.requested.ok && m.allowed.ok && m.reserved.ok && m.counted()+m.requested.n > m.allowed.n:
		return oomCapacity, "process_limit"
	case m.spilled() > 0:
		return oomCapacity, "spilled_to_host"
	case m.cut:
		return oomUnknown, "figures_missing"
	case m.requested.ok && m.free.ok && m.free.n >= m.requested.n:
		return oomUnknown, "free_above_request"
	case m.othersAtFault():
		return oomOtherProcess, ""
	case m.fragmented():
		return oomFragmentation, ""
	case m.requested.ok && m.free.ok:
		return oomCapacity, ""
	case m.requested.ok && m.total.ok && m.reserved.ok && m.reserved.n+m.requested.n > m.total.n-m.total.n/32:
		return oomCapacity, ""
	case m.underflow:
		return oomUnderflow, ""
	}
	return oomUnknown, "figures_missing"
}

// counted is what counts against the limit of a process: on one memory for all (MPS)
// also what the system took for it elsewhere.
func (m *memory) counted() int64 {
	if !m.total.ok && m.other.ok {
		return m.reserved.n + m.other.n
	}
	return m.reserved.n
}

// spilled is what the process holds beyond the card: under WDDM the driver may place
// allocations in host memory.
func (m *memory) spilled() int64 {
	if !m.total.ok || !m.reserved.ok {
		return 0
	}
	return atLeastZero(m.reserved.n - m.total.n)
}

func (m *memory) othersAtFault() bool {
	if !m.other.ok || !m.total.ok {
		return false
	}
	n := m.other.n
	if m.estimated { // CUDA context, libraries and NCCL are in it
		n -= min(3<<29, m.total.n/8)
	}
	if share(n, m.total) < otherShare {
		return false
	}
	need := m.requested.n
	return m.free.n+m.unallocated.n+n >= need
}

func (m *memory) fragmented() bool {
	if !m.requested.ok || !m.unallocated.ok {
		return false
	}
	if m.free.n+m.unallocated.n < m.requested.n {
		return false
	}
	if m.total.ok {
		return share(m.unallocated.n, m.total) >= fragmentShare
	}
	return m.reserved.ok && share(m.unallocated.n, m.reserved) >= fragmentStrong
}

// missing is how much more memory the request needs than is free.
func (m *memory) missing() amount {
	free := m.free
	if m.allowed.ok && m.reserved.ok {
		free = some(atLeastZero(m.allowed.n - m.counted()))
	}
	if !m.requested.ok || !free.ok || m.requested.n <= free.n {
		return amount{}
	}
	return some(m.requested.n - free.n)
}
