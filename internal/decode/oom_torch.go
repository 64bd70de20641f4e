package decode

import (
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// memory is what a refusal of GPU memory states, and what follows from it.
type memory struct {
	requested, total, free amount
	allocated, reserved    amount // by the framework: in use, and held from the driver
	unallocated            amount // held but not in use
	private                amount // of the allocated: in pools of CUDA graphs
	allowed                amount // limit that was set for this process
	own                    amount // this process with everything
	procs                  []procMemory
	device                 string
	underflow              bool // a figure was nonsense and was dropped
	listedSelf             bool // "Process N" is this process itself
	estimated              bool // other is what remains, not what was listed
	cut                    bool // the text ends before its last figures
	other                  amount
}

type procMemory struct {
	pid string
	n   int64
}

// torchTexts are the pieces of PyTorch's text in all its generations: in brackets up
// to 2.0 ("cached" up to 1.3), sentences from 2.1, "capacty" in 2.1 and 2.2. A piece
// that is cut off is simply absent.
var torchTexts = []struct {
	re  *lazyre.Regexp
	set func(*memory) *amount
}{
	{sizeIn(`(?:Tried to allocate (SIZE)|\bRequested\s*: (SIZE))`), func(m *memory) *amount { return &m.requested }},
	{sizeIn(`(?:(SIZE) total capacity|total capaci?ty of (SIZE)|Device limit\s*: (SIZE))`), func(m *memory) *amount { return &m.total }},
	{sizeIn(`(?:of which (SIZE) is free|[;(,] ?(SIZE) free\b|Free \(according to CUDA\)\s*: (SIZE))`), func(m *memory) *amount { return &m.free }},
	{sizeIn(`(?:(SIZE) already allocated|(SIZE) is allocated by PyTorch|MPS allocated: (SIZE)|Currently allocated\s*: (SIZE))`), func(m *memory) *amount { return &m.allocated }},
	{sizeIn(`(SIZE) (?:reserved in total by PyTorch|cached\b)`), func(m *memory) *amount { return &m.reserved }},
	// It is the last figure: a log that cuts its lines may leave no more than the number.
	{sizeIn(`(?:(SIZE) is reserved by PyT|by PyTorch,.* and (SIZE)(?: i?s?| is [a-z]+(?: by?)?)?$)`), func(m *memory) *amount { return &m.unallocated }},
	{sizeIn(`(SIZE) allocated in private pools`), func(m *memory) *amount { return &m.private }},
	{sizeIn(`(?:(SIZE) allowed\b|max allowed: (SIZE)|PyTorch limit \([^)]*\)\s*: (SIZE))`), func(m *memory) *amount { return &m.allowed }},
	{sizeIn(`this process has (SIZE) memory in use`), func(m *memory) *amount { return &m.own }},
	{sizeIn(`other allocations: (SIZE)`), func(m *memory) *amount { return &m.other }},
}

// pidGap is how far apart the pids of two ranks of one launcher may lie: each starts a few
// threads before the next.
const pidGap = 16

var (
	torchProcRE   = sizeIn(`\bProcess (\d+) has (SIZE) memory in use`)
	torchDeviceRE = lazyre.New(`\bGPU (\d+)(?:;| has a total| reached)`)
)

func sizeIn(expr string) *lazyre.Regexp {
	return lazyre.New(strings.ReplaceAll(expr, "SIZE", sizeExpr))
}

// readTorch reads PyTorch's refusal. The order of figures is not relied on, and line
// breaks inside the text are blanks by now.
func readTorch(text string) memory {
	var m memory
	for _, t := range torchTexts {
		found := t.re.FindStringSubmatch(text)
		for _, g := range found[min(1, len(found)):] {
			if g == "" {
				continue
			}
			if n, ok := parseSize(g, ""); ok {
				*t.set(&m) = some(n)
			} else {
				m.underflow = true
			}
			break
		}
	}
	m.cut = strings.Contains(text, " of which ") && !m.unallocated.ok && !m.underflow
	if d := torchDeviceRE.FindStringSubmatch(text); d != nil {
		m.device = plain(d[1])
	}
	seen := map[string]bool{}
	for _, p := range torchProcRE.FindAllStringSubmatch(text, -1) {
		n, ok := parseSize(p[2], "")
		if !ok {
			m.underflow = true
			continue
		}
		if !seen[p[1]] {
			seen[p[1]] = true
			m.procs = append(m.procs, procMemory{plain(p[1]), n})
		}
	}
	return m
}

// settle completes the figures from each other and drops those that cannot be: the
// differences of 2.1 underflow, and under WDDM or WSL a process has no figure.
func (m *memory) settle(pid string) {
	if m.total.ok && m.own.ok && m.own.n > m.total.n+m.total.n/8 {
		m.own, m.underflow = amount{}, true
	}
	if !m.reserved.ok && m.allocated.ok && m.unallocated.ok {
		m.reserved = some(m.allocated.n + m.unallocated.n)
	}
	if !m.unallocated.ok && m.allocated.ok && m.reserved.ok {
		m.unallocated = some(atLeastZero(m.reserved.n - m.allocated.n))
	}
	if !m.reserved.ok {
		m.reserved = m.allocated
	}
	kept := m.procs[:0]
	for _, p := range m.procs {
		if m.total.ok && p.n > m.total.n {
			m.underflow = true
			continue
		}
		kept = append(kept, p)
	}
	m.procs = kept
	if !m.own.ok {
		m.findSelf(pid)
	}
	m.settleOther()
}

// findSelf finds this process among the listed ones. PyTorch leaves itself out by its
// pid, which in a container without the host's pid name space is another number: then
// the list holds the process itself, a little larger than what its allocator holds.
func (m *memory) findSelf(pid string) {
	if !m.reserved.ok || len(m.procs) == 0 {
		return
	}
	best := -1
	slack := max(5<<29, m.total.n/16) // context, libraries, NCCL
	for i, p := range m.procs {
		if pid != "" && p.pid == pid {
			best = i
			break
		}
		over := p.n - m.reserved.n
		if over < -(64<<20) || over > slack {
			continue
		}
		if best < 0 || over < m.procs[best].n-m.reserved.n {
			best = i
		}
	}
	if best < 0 {
		return
	}
	m.own, m.listedSelf = some(m.procs[best].n), true
	m.procs = append(m.procs[:best:best], m.procs[best+1:]...)
}

// sisters is how many of the listed processes were started together: pids that follow
// each other closely are the ranks of one launcher, not somebody else's programs.
func (m *memory) sisters() int {
	var pids []int
	for _, p := range m.procs {
		if n, ok := atoi(p.pid); ok {
			pids = append(pids, n)
		}
	}
	slices.Sort(pids)
	most, run := 0, 0
	for i := range pids {
		if run++; i > 0 && pids[i]-pids[i-1] > pidGap {
			run = 1
		}
		most = max(most, run)
	}
	return most
}

// settleOther works out what other processes hold: listed, or what remains of the card.
func (m *memory) settleOther() {
	if m.other.ok { // stated
		return
	}
	if len(m.procs) > 0 {
		sum := int64(0)
		for _, p := range m.procs {
			sum += p.n
		}
		if m.total.ok {
			sum = min(sum, m.total.n)
		}
		m.other = some(sum)
		return
	}
	if m.listedSelf || m.own.ok && !m.underflow {
		m.other = some(0)
		return
	}
	if m.total.ok && m.free.ok && m.reserved.ok {
		m.other = some(atLeastZero(m.total.n - m.free.n - m.reserved.n))
		m.estimated = true
	}
}
