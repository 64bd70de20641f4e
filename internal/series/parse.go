package series

import (
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// point is what one line says.
type point struct {
	step          float64
	hasStep       bool
	loss, valLoss value
	norm, scale   value
	memory        value // bytes
	peak          value // bytes: a maximum so far
	batch         value
	memoryKey     string
}

// value is a number that a line may state. NaN and infinities are values too.
type value struct {
	v  float64
	ok bool
}

const (
	numExpr = `[-+]?(?:\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?i:nan|inf(?:inity)?)\b)`
	sepExpr = `["']?\)?\s*(?:[:=]|\s)\s*["']?(?:tensor\()?`
)

var (
	lossRE    = lazyre.New(`(?i)(?:^|[\s|,:{\["'(])(?:(?:train|training|lm|total|avg|mean|running|batch|step|reduced)[ _/-]?)?loss` + sepExpr + `(` + numExpr + `)`)
	valLossRE = lazyre.New(`(?i)(?:^|[\s|,:{\["'(])(?:val(?:id(?:ation)?)?|eval|dev|test)[ _/-]?loss` + sepExpr + `(` + numExpr + `)`)
	normRE    = lazyre.New(`(?i)(?:^|[\s|,:{\["'(])(?:total[ _])?(?:grad(?:ient)?s?[ _-]?norm|gnorm)` + sepExpr + `(` + numExpr + `)`)
	scaleRE   = lazyre.New(`(?i)(?:^|[\s|,:{\["'(])(?:loss[ _-]?scale|grad[ _-]?scale|amp[ _-]?scale|scale|scaler)` + sepExpr + `(` + numExpr + `)`)
	reduceRE  = lazyre.New(`(?i)(?:reducing (?:loss scale )?to|loss scale (?:is )?reduced to|decreasing (?:loss )?scale to) (` + numExpr + `)`)
	stepRE    = lazyre.New(`(?i)(?:^|[\s|,:{\["'(])(?:global[ _-]?step|train[ _-]?step|steps?|iter(?:ation)?s?|it|num_updates|updates?)["']?\s*[:=]?\s*["']?(\d[\d,_]*)\b`)
	barRE     = lazyre.New(`(?:\|\s*|\s|^)(\d+)/(\d+) \[`)
	epochRE   = lazyre.New(`(?i)["']?epoch["']?\s*[:=]\s*(\d+\.\d+)`)
	memRE     = lazyre.New(`(?i)(?:^|[\s|,:{\["'(])((?:(?:gpu|cuda|device|vram|max|peak|cur(?:rent)?|train|total|used|torch)[ _-]?){0,3}(?:mem(?:ory)?|vram|allocated|reserved|peak|Max_MA|MA|CA)(?:[ _-](?:alloc(?:ated)?|reserved|used|usage|in use|peak|max|gb|gib|mb|mib)){0,2})["']?\)?\s*[:=]?\s*["']?(\d[\d,]*(?:\.\d+)?)\s*([KMGT]i?B?|bytes)?\b`)
	hostRE    = lazyre.New(`(?i)\b(?:cpu|host|ram|rss|sys(?:tem)?|shm|disk|virtual|swap|main)(?:[ _-]|$)`)
	batchRE   = lazyre.New(`(?i)(?:^|[\s|,:{\["'(])(?:micro[ _-]?|local[ _-]?|per_device_\w*)?(?:batch(?:[ _-]?size)?|bs|bsz)["']?\s*[:=]?\s*(\d{1,6})\b(\s*/)?`)
	paramRE   = lazyre.New(`(?i)\bmemory \(MB\)`)
)

// longestLine bounds what is read of one line.
const longestLine = 8 << 10

// parse reads one line; ok is false when it bears no curve.
func parse(text, low string) (p point, ok bool) {
	p.loss = near(lossRE, text, low, "loss")
	if hasAny(low, "val", "dev", "test") {
		p.valLoss = near(valLossRE, text, low, "loss")
	}
	p.norm = near(normRE, text, low, "norm")
	if p.scale = near(reduceRE, text, low, "to "); !p.scale.ok { // what it becomes, not what was tried
		p.scale = near(scaleRE, text, low, "scale")
	}
	p.memories(text, low)
	if !p.loss.ok && !p.valLoss.ok && !p.norm.ok && !p.scale.ok && !p.memory.ok && !p.peak.ok {
		return p, false
	}
	p.readStep(text)
	if (p.memory.ok || p.peak.ok) && hasAny(low, "batch", "bs") {
		if m := batchRE.FindStringSubmatch(text); m != nil && m[2] == "" {
			p.batch = parseNumber(m[1])
		}
	}
	return p, true
}

// lower maps ASCII letters only, so that places in it are places in the text.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func hasAny(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// firstOf is the first place of any of the words, -1 for none.
func firstOf(text string, words ...string) int {
	at := -1
	for _, w := range words {
		if i := strings.Index(text, w); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

func (p *point) readStep(text string) {
	if m := stepRE.FindStringSubmatch(text); m != nil {
		if v := parseNumber(m[1]); v.ok {
			p.step, p.hasStep = v.v, true
			return
		}
	}
	if m := barRE.FindStringSubmatch(text); m != nil {
		p.step, _ = strconv.ParseFloat(m[1], 64)
		p.hasStep = true
		return
	}
	if m := epochRE.FindStringSubmatch(text); m != nil {
		p.step, _ = strconv.ParseFloat(m[1], 64)
		p.step *= 1000 // a fraction of an epoch orders points, that is all
		p.hasStep = true
	}
}

// memories reads figures of GPU memory. "max" and "peak" are maxima so far and make a
// curve of their own; memory of the host is no business of this package.
func (p *point) memories(text, low string) {
	at := firstOf(low, "mem", "vram", "alloc", "reserved", "peak", "ma ", "ca ")
	if at < 0 {
		return
	}
	text = text[max(0, at-before):min(len(text), at+4*after)]
	unit := ""
	if paramRE.MatchString(text) {
		unit = "M"
	}
	for rest := text; ; {
		at := memRE.FindStringSubmatchIndex(rest)
		if at == nil {
			return
		}
		text = rest
		rest = rest[at[1]:]
		key := strings.ToLower(text[at[2]:at[3]])
		if hostRE.MatchString(text[max(0, at[2]-12):at[3]]) {
			continue
		}
		given := ""
		if at[6] >= 0 {
			given = text[at[6]:at[7]]
		}
		n, ok := bytesOf(text[at[4]:at[5]], given, key, unit)
		if !ok {
			continue
		}
		if strings.Contains(key, "max") || strings.Contains(key, "peak") {
			if !p.peak.ok {
				p.peak = value{n, true}
			}
			continue
		}
		if !p.memory.ok || strings.Contains(key, "alloc") {
			p.memory, p.memoryKey = value{n, true}, key
		}
	}
}

// bytesOf needs a unit, in the value or in the name: a bare number beside "memory" may
// be anything.
func bytesOf(num, unit, key, standard string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(num, ",", ""), 64)
	if err != nil {
		return 0, false
	}
	if unit == "" {
		switch {
		case strings.HasSuffix(key, "gb"), strings.HasSuffix(key, "gib"):
			unit = "G"
		case strings.HasSuffix(key, "mb"), strings.HasSuffix(key, "mib"):
			unit = "M"
		default:
			unit = standard
		}
	}
	if unit == "" {
		return 0, false
	}
	exp := strings.IndexByte("bkmgt", unit[0]|0x20)
	if exp < 0 {
		return 0, false
	}
	v = math.Ldexp(v, 10*exp)
	return v, v < 1<<50
}

// How far around its word an expression may look.
const (
	before = 40
	after  = 64
)

// near applies an expression around each place where its word stands: a search for a
// word costs a hundredth of an expression over the whole line.
func near(re *lazyre.Regexp, text, low, word string) value {
	for from := 0; ; {
		i := strings.Index(low[from:], word)
		if i < 0 {
			return value{}
		}
		at := from + i
		if m := re.FindStringSubmatch(window(text, at)); m != nil {
			return parseNumber(m[1])
		}
		from = at + len(word)
	}
}

// window is the text around a place, cut at a blank in front so that no word is halved.
func window(text string, at int) string {
	lo := 0
	if at > before {
		lo = 1 + strings.LastIndexByte(text[:at-before], ' ')
		if at-lo > 2*before {
			lo = at - before
		}
	}
	return text[lo:min(len(text), at+after)]
}

func parseNumber(s string) value {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "_", ""), ",", "")
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "."), 64)
	if err != nil && !math.IsInf(v, 0) {
		return value{}
	}
	return value{v, true}
}

// Literals are texts of which one at least stands in every line that [Collector.Line]
// can use. They are of four bytes or more, for the block scan; case is ignored.
func Literals() []string {
	return []string{"loss", "norm", "scale", "memory", "_mem", " mem", "mem=", "vram", "peak", "allocated", "max_ma", "reducing",
		"out of memory", "resource_exhausted", "resum", "checkpoint", "restor", "evaluat", "validat"}
}

// useful matches all lines that [Collector.Line] can use, with framing around the text or
// without.
var useful = sync.OnceValue(func() *lazyre.Filter {
	return lazyre.NewLooseFilter(`(?i)loss|norm|scale|reducing|mem|vram|alloc|reserved|peak|ma |ca |oom|` + resumeRE.String() + `|` + evalRE.String())
})

// Useless says that a line surely bears no figure and tells of no event: a word such as
// "restored" stands in lines of all kinds.
func Useless(line []byte) bool {
	match, known := useful().MatchBytes(line)
	return known && !match
}
