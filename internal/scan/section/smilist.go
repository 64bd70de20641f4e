package section

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// smiList reads what begins with `GPU 0: NAME (UUID: GPU-…)`: nvidia-smi -L with its
// MIG devices, and nvidia-smi nvlink in all its forms.
var smiList = parser{
	starts:  []string{"(UUID: GPU-", " Link 0", "<inactive>", "ink recovery ", ": Effective Errors", ": Symbol Errors"},
	command: func(c Command) bool { return c.smi("-L", "--list-gpus", "nvlink") },
	parse:   parseSMIList,
}

var (
	listGPU  = lazyre.New(`^GPU (\d+): (.+?) \(UUID: (GPU-[0-9a-fA-F-]+)\)$`)
	listMIG  = lazyre.New(`^MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-\S+)\)$`)
	listLink = lazyre.New(`^Link (\d+)(?:: ?|, )(.*)$`)
	linkRate = lazyre.New(`^([\d.]+) GB/s$`)
	linkErr  = lazyre.New(`(?i)(?:GPU \d+, )?(Replay|Recovery|CRC(?: FLIT| Data)?|ECC) Errors?:? *:? *(\d+)`)
)

// link5Err are the counters of fifth-generation NVLink (nvidia-smi of B200, GB200).
var link5Err = lazyre.New(`^([A-Za-z][A-Za-z ]+?): *(\d+)$`)

var link5Kinds = map[string]string{
	"total link recovery events": "link_recovery", "link recovery successful events": "link_recovery_ok", "link recovery failed events": "link_recovery_failed",
	"effective errors": "effective", "symbol errors": "symbol", "malformed packet errors": "packet", "buffer overrun errors": "packet",
	"rx errors": "packet", "rx remote errors": "packet", "rx general errors": "packet", "local link integrity errors": "packet",
}

type linkCount struct {
	active int
	down   []string
	errors map[string]int
	worst  map[string]string // link with the most errors of a kind
	most   map[string]int    // how many those are
}

func parseSMIList(c *cursor) ([]Readings, int) {
	var sets []*builder
	var cur *builder
	counts := map[*builder]*linkCount{}
	end := 0
	for i, text := range c.from(0) {
		t := strings.TrimSpace(text)
		if t == "" {
			if i-end > 2 {
				break
			}
			continue
		}
		if m := listGPU.FindStringSubmatch(t); m != nil {
			cur = newSet("nvidia-smi -L")
			sets = append(sets, cur)
			cur.put("index", m[1], i, c.raw(i))
			cur.put("name", m[2], i, c.raw(i))
			cur.put("uuid", m[3], i, c.raw(i))
			end = i + 1
			continue
		}
		if cur == nil {
			// Links without the GPU above them: an excerpt.
			if !listLink.MatchString(t) {
				break
			}
			cur = newSet("nvidia-smi nvlink")
			cur.Subject.GPU = c.cmd.GPU
			sets = append(sets, cur)
		}
		if !listDetail(cur, counts, t, i, c.raw(i)) {
			break
		}
		end = i + 1
	}
	if len(sets) == 0 {
		return nil, 0
	}
	var out []Readings
	for _, b := range sets {
		if n := counts[b]; n != nil {
			n.put(b)
		}
		if !b.empty() {
			out = append(out, b.Readings)
		}
	}
	if len(out) == 0 {
		return nil, 0
	}
	return out, end
}

// listDetail reads a line below a GPU.
func listDetail(b *builder, counts map[*builder]*linkCount, t string, i int, raw string) bool {
	low := strings.ToLower(t)
	switch {
	case listMIG.MatchString(t):
		b.put("mig.mode.current", "enabled", i, raw)
		return true
	case strings.Contains(low, "unable to retrieve nvlink information as all links are inactive"):
		b.Tool = "nvidia-smi nvlink"
		b.put("nvlink.links.active", "0", i, raw)
		b.put("nvlink.all_inactive", "yes", i, raw)
		return true
	case strings.Contains(low, "nvlink queries are not supported"), strings.Contains(low, "does not have or support nvlink"):
		b.Tool = "nvidia-smi nvlink"
		b.put("nvlink.links.active", na, i, raw)
		return true
	}
	m := listLink.FindStringSubmatch(t)
	if m == nil {
		return false
	}
	n := counts[b]
	if n == nil {
		n = &linkCount{errors: map[string]int{}, worst: map[string]string{}, most: map[string]int{}}
		counts[b] = n
		b.Tool = "nvidia-smi nvlink"
	}
	switch {
	case linkRate.MatchString(m[2]):
		n.active++
		b.put("nvlink.links.active", "0", i, raw)
	case strings.Contains(strings.ToLower(m[2]), "inactive"):
		n.down = append(n.down, m[1])
		b.put("nvlink.links.inactive", "0", i, raw)
		if len(n.down) == 1 {
			b.Subject.Link = m[1]
		}
	default:
		n.count(b, m[1], m[2], i, raw)
	}
	return true
}

// count adds error counters of one link ("Link 0: Replay Errors: 3").
func (n *linkCount) count(b *builder, link, text string, i int, raw string) {
	kind, figure := "", ""
	if m := linkErr.FindStringSubmatch(text); m != nil {
		kind, figure = strings.ToLower(strings.Fields(m[1])[0]), m[2]
	} else if m := link5Err.FindStringSubmatch(text); m != nil {
		kind, figure = link5Kinds[strings.ToLower(m[1])], m[2]
	}
	if kind == "" {
		return
	}
	v, _ := num(figure)
	if v > 1e9 {
		v = 1e9
	}
	key := "nvlink.errors." + kind
	n.errors[key] += int(v)
	if _, ok := b.Values[key]; !ok || int(v) > n.most[key] { // the line of the worst link
		n.most[key] = int(v)
		b.Values[key] = Reading{Key: key, Value: figure, Line: i, Text: raw}
		if v > 0 {
			n.worst[key] = link
		}
	}
}

// put writes the sums of the links.
func (n *linkCount) put(b *builder) {
	set := func(key string, v int) {
		if r, ok := b.Values[key]; ok {
			r.Value = strconv.Itoa(v)
			b.Values[key] = r
		}
	}
	set("nvlink.links.active", n.active)
	set("nvlink.links.inactive", len(n.down))
	const total, ok = "nvlink.errors.link_recovery", "nvlink.errors.link_recovery_ok"
	if r, has := b.Values[ok]; has && b.Values[total].Text == "" { // an excerpt without the total
		r.Key = total
		b.Values[total] = r
		n.errors[total], n.worst[total] = n.errors[ok], n.worst[ok]
	}
	for _, key := range sortedKeys(n.errors) {
		set(key, n.errors[key])
		if n.worst[key] != "" && b.Subject.Link == "" {
			b.Subject.Link = n.worst[key]
		}
	}
	if r, ok := b.Values["nvlink.links.inactive"]; ok {
		b.Values["nvlink.links.down"] = Reading{Key: "nvlink.links.down", Value: strings.Join(n.down, ","), Line: r.Line, Text: r.Text}
	}
}
