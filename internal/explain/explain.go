// Package explain answers "what is this?" about a code, a fault, a signal or a few
// words, from the catalog alone: offline, in English or Chinese, with sources.
//
// [Explain] reads the query: a code with its family (`xid 94`, `cuda 700`), a symbol
// (`CUDA_ERROR_ECC_UNCORRECTABLE`), a setting (`NCCL_IB_DISABLE`), an exit code or a
// signal (`exit 137`, `-9`, `SIGBUS`), a whole log line, a fault's id, a signal's kind,
// or words. Words that name one thing clearly give its page; otherwise the page lists
// what they may have meant, best first.
package explain

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Kinds of a Page.
const (
	KindXid      = "xid"
	KindSXid     = "sxid"
	KindCode     = "code" // CUDA, NVML, NCCL, cuDNN, cuBLAS
	KindRmInit   = "rminit"
	KindRecovery = "recovery"
	KindBucket   = "bucket"
	KindFault    = "fault"
	KindSignal   = "signal"
	KindSetting  = "setting" // an environment variable, an option, a limit
	KindExit     = "exit"    // an exit code, a signal of the system
	KindSearch   = "search"
)

// Page is one answer.
type Page struct {
	Query       string       `json:"query"`
	Lang        string       `json:"lang"`
	Kind        string       `json:"kind"`
	Key         string       `json:"key,omitempty"` // "xid.94", a fault id: ask for it to get this page again
	Title       string       `json:"title"`
	Name        string       `json:"name,omitempty"` // the vendor's symbol
	Meaning     string       `json:"meaning,omitempty"`
	Class       []string     `json:"class,omitempty"`
	Level       string       `json:"level,omitempty"`
	Action      string       `json:"action,omitempty"` // id of the action ladder
	Low         bool         `json:"low_confidence,omitempty"`
	Facts       []Fact       `json:"facts,omitempty"`
	Causes      []Cause      `json:"causes,omitempty"`
	Check       string       `json:"check,omitempty"`
	Steps       []Step       `json:"steps,omitempty"`
	Units       []Unit       `json:"units,omitempty"` // what a code is made of: sub-codes, bits
	Follows     []Ref        `json:"follows,omitempty"`
	Faults      []Ref        `json:"faults,omitempty"` // faults of the catalog that use it
	Signals     []Ref        `json:"signals,omitempty"`
	Myths       []Myth       `json:"myths,omitempty"`
	Sources     []string     `json:"sources,omitempty"`
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// Fact is a short property.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Cause is a possible cause and what would confirm it.
type Cause struct {
	Cause   string `json:"cause"`
	Confirm string `json:"confirm,omitempty"`
}

// Step is something to do. When says in which case.
type Step struct {
	When    string `json:"when,omitempty"`
	Text    string `json:"text"`
	Detail  string `json:"detail,omitempty"`
	Command string `json:"command,omitempty"`
	Risk    string `json:"risk,omitempty"`
}

// Unit is a sub-code of NVLink 5, a link-down reason, a bit.
type Unit struct {
	Name     string `json:"name"`
	Words    string `json:"words,omitempty"`
	Severity string `json:"severity,omitempty"`
	Action   string `json:"action,omitempty"`
	Text     string `json:"text,omitempty"`
}

// Ref points to another page.
type Ref struct {
	Key   string `json:"key"`
	Title string `json:"title,omitempty"`
	How   string `json:"how,omitempty"`
}

// Myth is a wrong claim and what is true.
type Myth struct {
	Claim   string   `json:"claim"`
	Truth   string   `json:"truth,omitempty"`
	Sources []string `json:"sources,omitempty"`
}

// Suggestion is what words may have meant.
type Suggestion struct {
	Key   string `json:"key"`
	Title string `json:"title"`
}

// ErrNothing is returned when nothing in the catalog is like the query.
var ErrNothing = errors.New("nothing in the catalog is like it")

// Explain answers a query in a language ("en", "zh").
func Explain(c *catalog.Catalog, query, lang string) (Page, error) {
	b := &book{c: c, t: c.Tables(), lang: lang}
	q := strings.Join(strings.Fields(query), " ")
	if q == "" {
		return Page{}, fmt.Errorf("explain: empty query: name a code, a fault or some words, for example: xid 79")
	}
	if p, ok := b.direct(q); ok {
		p.Query, p.Lang = query, lang
		return p, nil
	}
	p, ok := b.search(q)
	if !ok {
		return Page{}, fmt.Errorf("explain %q: %w: try a code (xid 79, cuda 700), a fault id or other words", query, ErrNothing)
	}
	p.Query, p.Lang = query, lang
	return p, nil
}

// book is what answers are made from.
type book struct {
	c    *catalog.Catalog
	t    *catalog.TableSet
	lang string
}

// in picks the language of a text.
func (b *book) in(t catalog.Text) string { return t.In(b.lang) }

var (
	logXidRE  = lazyre.New(`(?i)\bXid\s*\([^)]*\)\s*:\s*(\d+)\b\s*,?\s*(.*)$`)
	logSXidRE = lazyre.New(`(?i)\bSXid\s*\([^)]*\)\s*:\s*(\d+)\b\s*,?\s*(.*)$`)
	xidRE     = lazyre.New(`(?i)^(?:nvrm[: ]*|nvidia )?xid(?: code| error)?[ .:#=_-]*(\d{1,6})$`)
	sxidRE    = lazyre.New(`(?i)^(?:nvswitch )?sxid(?: code| error)?[ .:#=_-]*(\d{1,6})$`)
	numberRE  = lazyre.New(`^\d{1,6}$`)
	codeRE    = lazyre.New(`(?i)^(cuda|nvml|nccl|cudnn|cublas|cudart|driver|runtime)(?: (?:runtime|driver|status))?(?: (?:error|code))?[ .:#=_-]*\(?(\d{1,5})\)?$`)
	codeTxtRE = lazyre.New(`(?i)^(?:cuda|nvml|nccl|cudnn|cublas)[ .:]+(\w+)$`)
	symbolRE  = lazyre.New(`\b(?:CUDA_(?:ERROR_\w+|SUCCESS)|cuda(?:Error\w+|Success)|NVML_(?:ERROR_\w+|SUCCESS)|nccl[A-Z]\w+|CUDNN_STATUS_\w+|CUBLAS_STATUS_\w+)\b`)
	rminitRE  = lazyre.New(`(?i)^(?:rminit(?:adapter)?(?: failed!?)?)?[ .:(]*(0x[0-9a-f]+):(0x[0-9a-f]+)(?::\d+)?\)?$`)
	rmLogRE   = lazyre.New(`(?i)RmInitAdapter failed!?\s*\((0x[0-9a-f]+):(0x[0-9a-f]+)(?::\d+)?\)`)
	nvErrRE   = lazyre.New(`(?i)\bNV_(?:ERR|WARN)_\w+|\bNV_OK\b`)
	recovRE   = lazyre.New(`(?i)^(?:gpu )?recovery(?: action)?[ .:#=]*(.+)$`)
)

// direct answers a query that names one thing.
func (b *book) direct(q string) (Page, bool) {
	if m := logSXidRE.FindStringSubmatch(q); m != nil {
		return b.sxid(number(m[1]), m[2])
	}
	if m := logXidRE.FindStringSubmatch(q); m != nil {
		return b.xid(number(m[1]), m[2])
	}
	if m := xidRE.FindStringSubmatch(q); m != nil {
		return b.xid(number(m[1]), "")
	}
	if m := sxidRE.FindStringSubmatch(q); m != nil {
		return b.sxid(number(m[1]), "")
	}
	for _, re := range []*lazyre.Regexp{rminitRE, rmLogRE} {
		if m := re.FindStringSubmatch(q); m != nil {
			return b.rminit(m[1], m[2])
		}
	}
	if f := b.c.Faults[strings.ToLower(strings.ReplaceAll(q, " ", "-"))]; f != nil {
		return b.fault(f), true
	}
	if p, ok := b.byCode(q); ok {
		return p, true
	}
	if p, ok := b.settingNamed(q); ok {
		return p, true
	}
	if p, ok := b.exit(q); ok {
		return p, true
	}
	if m := recovRE.FindStringSubmatch(q); m != nil {
		if p, ok := b.recovery(m[1]); ok {
			return p, true
		}
	}
	if bk, ok := b.t.Bucket(strings.ReplaceAll(strings.ReplaceAll(q, " ", "_"), "/", "_")); ok {
		return b.bucket(bk), true
	}
	if p, ok := b.signal(strings.ToLower(q)); ok {
		return p, true
	}
	if numberRE.MatchString(q) {
		return b.bareNumber(number(q))
	}
	return Page{}, false
}

// byCode answers for the libraries: family and number, a symbol anywhere, NV_ERR_*.
func (b *book) byCode(q string) (Page, bool) {
	if m := codeRE.FindStringSubmatch(q); m != nil {
		if p, ok := b.numbered(strings.ToLower(m[1]), number(m[2])); ok {
			return p, true
		}
	}
	if s := symbolRE.FindString(q); s != "" {
		if c, ok := b.t.CodeSymbol(s); ok {
			return b.code(c), true
		}
	}
	if m := codeTxtRE.FindStringSubmatch(q); m != nil {
		if c, ok := b.t.CodeSymbol(m[1]); ok {
			return b.code(c), true
		}
	}
	if c, ok := b.t.CodeSymbol(q); ok {
		return b.code(c), true
	}
	if s := nvErrRE.FindString(q); s != "" {
		if x, ok := b.t.RmName(s); ok {
			return b.rmName(x), true
		}
	}
	return Page{}, false
}

// numbered looks a number up in a library's family.
func (b *book) numbered(family string, n int) (Page, bool) {
	apis := map[string][]string{
		"cuda": {"runtime", "driver"}, "cudart": {"runtime"}, "runtime": {"runtime"}, "driver": {"driver"},
		"nvml": {"nvml"}, "nccl": {"nccl"}, "cudnn": {"cudnn9", "cudnn8"}, "cublas": {"cublas"},
	}[family]
	for _, api := range apis {
		if c, ok := b.t.CodeNumber(api, n); ok {
			p := b.code(c)
			b.addLegacy(&p, family, n)
			return p, true
		}
	}
	if c, ok := b.t.CodeNumber("runtime-legacy", n); ok && (family == "cuda" || family == "runtime") {
		return b.code(c), true
	}
	return Page{}, false
}

// bareNumber takes a number alone for what operators mostly mean by it, and names the
// other readings.
func (b *book) bareNumber(n int) (Page, bool) {
	var p Page
	var ok bool
	if n >= 10000 {
		p, ok = b.sxid(n, "")
	} else if p, ok = b.xid(n, ""); p.Name == "" {
		if q, found := b.numbered("cuda", n); found {
			return q, true
		}
	}
	for _, fam := range []string{"cuda", "nvml", "nccl"} {
		if q, found := b.numbered(fam, n); found {
			p.Suggestions = append(p.Suggestions, Suggestion{fam + " " + strconv.Itoa(n), q.Title})
		}
	}
	return p, ok
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
