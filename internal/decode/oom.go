package decode

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// longestText bounds what is read of one message.
const longestText = 64 << 10

// caughtRE recognises programs that expect the refusal and go on.
var caughtRE = lazyre.New(`(?i)\b(?:skip(?:ping|ped)? (?:this |the |)?(?:batch|sample|step)|retry(?:ing)? (?:with|on|batch)|trying (?:a )?(?:smaller|with)|(?:decreas|reduc)(?:ing|ed) (?:the )?batch|batch.?size \d+ failed|will try (?:again|with)|attempting to recover|\bhalving\b)`)

// oom reads a refusal of memory: PyTorch's text, and the fields *_size of matchers for
// the others. It turns every quantity into *_bytes and *_text, and judges.
func (d *Decoder) oom(f *fields) {
	text := f.text
	if len(text) > longestText {
		text = text[:longestText]
	}
	text = strings.Join(strings.Fields(text), " ")
	f.sizes()
	if form := f.get("form"); form != "" {
		f.serverMemory(form)
		if f.get("caught") != "" && f.sig.Level == gpumedic.LevelAbnormal {
			f.sig.Level = gpumedic.LevelNotice // the program itself deals with it
		}
		delete(f.sig.Fields, "form")
		f.putNeed()
		return
	}
	m := readTorch(text)
	if len(m.procs) > 1 {
		f.set("process_count", strconv.Itoa(len(m.procs)))
	}
	if n := m.sisters(); n > 1 {
		f.set("sister_count", strconv.Itoa(n))
	}
	f.fillFrom(&m)
	pid := ""
	if p := f.sig.Subject.Process.PID; p != 0 {
		pid = strconv.Itoa(p)
	}
	m.settle(pid)
	f.putMemory(&m)
	if f.sig.Subject.GPU.Index == nil {
		if i, ok := atoi(m.device); ok {
			f.sig.Subject.GPU.Index = &i
		}
	}
	f.rankAndDevice()
	kind, why := m.judge()
	if caughtRE.MatchString(beforeHint(text)) {
		f.set("caught", "yes")
		f.sig.Level = gpumedic.LevelNotice // the program itself deals with it
	}
	f.allocatorNames(text)
	f.set("oom_kind", kind)
	f.set("oom_why", why)
	f.putVerdict(&m, kind)
	f.putNeed()
}

// putNeed says in half a sentence what was lacking, for headlines.
func (f *fields) putNeed() {
	req, missing, total := f.get("requested_text"), f.get("missing_text"), f.get("total_text")
	switch {
	case f.get("oom_kind") == oomSingle && total != "":
		f.set("need_en", "one tensor of "+req+" is larger than the card ("+total+")")
		f.set("need_zh", "单个张量 "+req+" 就超过整卡 "+total)
	case req != "" && missing != "":
		f.set("need_en", "this step needs "+missing+" more than is free")
		f.set("need_zh", "这一步还差 "+missing)
	case req != "":
		f.set("need_en", req+" could not be allocated")
		f.set("need_zh", "申请 "+req+" 失败")
	}
}

// beforeHint is the message without the advice at its end.
func beforeHint(text string) string {
	head, _, _ := strings.Cut(text, "If reserved")
	return head
}

// sizes turns the fields *_size and *_hex that a matcher gave into *_bytes, and *_bytes
// into *_text; "unit" stands in where they have none. It walks a sorted copy of the
// names: setting a field while ranging over the map would visit it or not, by chance.
func (f *fields) sizes() {
	for _, k := range slices.Sorted(maps.Keys(f.sig.Fields)) {
		v := f.sig.Fields[k]
		if name, ok := strings.CutSuffix(k, "_hex"); ok {
			if n, ok := word32(v); ok {
				f.set(name+"_bytes", strconv.FormatUint(uint64(n), 10))
			}
			continue
		}
		name, ok := strings.CutSuffix(k, "_size")
		if !ok || f.given[name+"_bytes"] { // the line has the exact number too
			continue
		}
		if n, ok := parseSize(v, f.get("unit")); ok {
			f.set(name+"_bytes", strconv.FormatInt(n, 10))
		} else {
			f.set("underflow", "yes")
		}
	}
	for _, k := range slices.Sorted(maps.Keys(f.sig.Fields)) {
		if name, ok := strings.CutSuffix(k, "_bytes"); ok {
			if n, ok := parseSize(f.sig.Fields[k], ""); ok {
				f.set(name+"_text", sizeText(n))
			}
		}
	}
}

// fillFrom takes figures that the matcher gave.
func (f *fields) fillFrom(m *memory) {
	for _, x := range m.named() {
		if x.a.ok {
			continue
		}
		if n, err := strconv.ParseInt(f.get(x.name+"_bytes"), 10, 64); err == nil && n >= 0 {
			*x.a = some(n)
		}
	}
	if m.device == "" {
		m.device = f.get("index")
	}
}

type namedAmount struct {
	name string
	a    *amount
}

func (m *memory) named() []namedAmount {
	return []namedAmount{{"requested", &m.requested}, {"total", &m.total}, {"free", &m.free}, {"allocated", &m.allocated},
		{"reserved", &m.reserved}, {"unallocated", &m.unallocated}, {"private", &m.private}, {"allowed", &m.allowed},
		{"own", &m.own}, {"other", &m.other}}
}

func (f *fields) putSize(name string, n int64) {
	f.set(name+"_bytes", strconv.FormatInt(n, 10))
	f.set(name+"_text", sizeText(n))
}

// putMemory writes the figures.
func (f *fields) putMemory(m *memory) {
	for _, x := range m.named() {
		if x.a.ok {
			f.putSize(x.name, x.a.n)
		}
	}
	if m.other.ok && m.estimated {
		f.set("other_estimated", "yes")
	}
	if m.listedSelf {
		f.set("listed_self", "yes")
	}
	if m.underflow {
		f.set("underflow", "yes")
	}
	if !m.cut && m.own.ok && m.reserved.ok && m.own.n >= m.reserved.n {
		f.putSize("nonframework", m.own.n-m.reserved.n)
		if m.total.ok {
			f.set("nonframework_percent", tenth(100*share(m.own.n-m.reserved.n, m.total)))
		}
	}
	if m.free.ok && m.unallocated.ok {
		f.putSize("free_after_cache", m.free.n+m.unallocated.n)
	}
	if n := m.spilled(); n > 0 {
		f.putSize("spilled", n)
	}
	f.set("device_index", m.device)
	var pids []string
	for _, p := range m.procs {
		pids = append(pids, p.pid)
	}
	f.set("other_pids", strings.Join(pids, "|"))
	f.set("other_pid_list", strings.Join(pids, ","))
}

// putVerdict writes the numbers that headlines and remedies carry.
func (f *fields) putVerdict(m *memory, kind string) {
	if n := m.missing(); n.ok {
		f.putSize("missing", n.n)
		if held := m.allocated; held.ok && held.n+m.requested.n > 0 {
			f.set("cut_percent", percentUp(n.n, held.n+m.requested.n))
		}
	}
	// One tensor that takes a tenth of the card is the thing to shrink: the part of it
	// that fits is a measure. Small requests at the brim say nothing of that kind.
	if m.requested.ok && m.free.ok && share(m.requested.n, m.total) >= 0.1 && m.free.n < m.requested.n && m.free.n > 0 {
		part := share(m.free.n, m.requested)
		f.set("fit_percent", strconv.Itoa(int(100*part)))
		if s := int(100 * math.Sqrt(part)); kind == oomSingle {
			f.set("fit_side_percent", strconv.Itoa(s)) // where it grows with the square
		}
	}
	if m.unallocated.ok && m.total.ok {
		f.set("unallocated_percent", tenth(100*share(m.unallocated.n, m.total)))
	}
	if m.other.ok && m.total.ok {
		f.set("other_percent", tenth(100*share(m.other.n, m.total)))
	}
	if kind == oomFragmentation {
		grade := "strong"
		if m.total.ok && share(m.unallocated.n, m.total) < fragmentStrong {
			grade = "weak"
		}
		f.set("oom_grade", grade)
	}
}

// percentUp is n of whole in percent, rounded up: what must go at least.
func percentUp(n, whole int64) string {
	return strconv.Itoa(min(100, int(math.Ceil(100*float64(n)/float64(whole)))))
}

// tenth prints with one decimal.
func tenth(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) }

// rankAndDevice says whether a rank failed on a device that cannot be its own. Each
// rank of a node has a device of its own: rank 6 on device 0 is foreign there, unless
// every rank is shown one device only, as GPU 0. So this is a hint, never a verdict.
func (f *fields) rankAndDevice() {
	rank := f.sig.Subject.Rank
	dev, ok := atoi(f.get("device_index"))
	if rank == nil || !ok {
		return
	}
	switch {
	case *rank == dev, *rank > 7 && *rank%8 == dev:
		f.set("rank_device", "own")
	case *rank%8 != dev:
		f.set("rank_device", "foreign")
	}
}

// allocatorNames says which setting this version of PyTorch understands: expandable
// segments came with the sentences of 2.1, the variable without CUDA in its name with
// 2.9; the old name stays valid. Before, large blocks can only be kept whole.
func (f *fields) allocatorNames(text string) {
	switch {
	case strings.Contains(text, "PYTORCH_ALLOC_CONF"):
		f.set("expandable_env", "PYTORCH_ALLOC_CONF")
	case strings.Contains(text, "total capac") && !strings.Contains(text, "total capacity;"), strings.Contains(text, "expandable_segments"):
		f.set("expandable_env", "PYTORCH_CUDA_ALLOC_CONF")
	case strings.Contains(text, "reserved in total by PyTorch"):
		f.set("split_env", "PYTORCH_CUDA_ALLOC_CONF")
	}
}
