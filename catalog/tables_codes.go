package catalog

import (
	"io/fs"
	"strconv"
	"strings"
)

// RmInit is a stage or a status of "RmInitAdapter failed! (stage:status:line)".
type RmInit struct {
	Stage   bool // else a status of the driver (NV_ERR_*)
	Code    uint64
	Name    string
	Classes []string
	Action  string // empty: says too little by itself
	Hint    string
	Sources []string
	Meaning Text
	Causes  Text
}

func loadRmInit(fsys fs.FS) (map[string]*RmInit, error) {
	t := readTable(fsys, "rminit.tsv", "kind", "code", "name", "meaning_en", "meaning_zh")
	m := map[string]*RmInit{}
	return m, t.rows(func(r tableRow) {
		code, err := strconv.ParseUint(r.need("code"), 0, 32)
		if err != nil {
			r.fail("code", "%q is no number", r.opt("code"))
		}
		x := &RmInit{Stage: r.oneOf("kind", "stage", "status") == "stage", Code: code, Name: r.need("name"), Classes: r.list("classes", ";"),
			Action: r.action("action"), Hint: r.opt("hint"), Sources: r.sources(), Meaning: r.mustText("meaning"), Causes: r.text("causes")}
		m[rmKey(x.Stage, code)] = x
		m[strings.ToLower(x.Name)] = x
	})
}

func rmKey(stage bool, code uint64) string {
	if stage {
		return "stage:" + strconv.FormatUint(code, 16)
	}
	return "status:" + strconv.FormatUint(code, 16)
}

// RmInit looks up both numbers of an RmInitAdapter line; either may be nil.
func (t *TableSet) RmInit(stage, status uint64) (*RmInit, *RmInit) {
	m, _ := t.rminit()
	return m[rmKey(true, stage)], m[rmKey(false, status)]
}

// RmName looks up a stage or status by its name (NV_ERR_GPU_IS_LOST).
func (t *TableSet) RmName(name string) (*RmInit, bool) {
	m, _ := t.rminit()
	x, ok := m[strings.ToLower(name)]
	return x, ok
}

// AERBit is one bit of a PCIe error status word.
type AERBit struct {
	Corrected bool
	Bit       int
	Name      string // as Linux prints it
	Token     string
	Hint      string
	Layer     string
	Sources   []string
	Meaning   Text
}

func loadAER(fsys fs.FS) ([]*AERBit, error) {
	t := readTable(fsys, "aer.tsv", "class", "bit", "name", "token", "hint", "meaning_en", "meaning_zh")
	var out []*AERBit
	err := t.rows(func(r tableRow) {
		out = append(out, &AERBit{Corrected: r.oneOf("class", "corrected", "uncorrected") == "corrected", Bit: r.num("bit"), Name: r.need("name"),
			Token: r.need("token"), Hint: r.need("hint"), Layer: r.need("layer"), Sources: r.sources(), Meaning: r.mustText("meaning")})
	})
	return out, err
}

// AERBits returns the bits of the corrected or the uncorrected status word.
func (t *TableSet) AERBits(corrected bool) []*AERBit {
	all, _ := t.aer()
	var out []*AERBit
	for _, b := range all {
		if b.Corrected == corrected {
			out = append(out, b)
		}
	}
	return out
}

// Code is a return code or a well-known message of a library: CUDA (driver, runtime,
// runtime-legacy), nvml, nccl, nccl-log, pytorch, cudnn9, cudnn8, cublas.
type Code struct {
	API     string
	Number  int // -1: a message without a number
	Symbol  string
	Message string // the library's own text
	Class   string
	Sticky  string // yes: the process cannot use CUDA any more; no; unknown
	Action  string
	Xids    []string
	Since   string
	Low     bool
	Sources []string
	Meaning Text
	First   Text // what to do first
}

// Kind is the signal kind of a CUDA code, "" for others.
func (c *Code) Kind() string {
	switch c.API {
	case "driver", "runtime":
		return "cuda." + itoa(c.Number)
	}
	return ""
}

type codeTables struct {
	all      []*Code
	byNumber map[string]*Code // api:number
	bySymbol map[string]*Code // lower case
	byText   map[string]*Code // api family and message, letters and digits only
}

var codeFiles = []string{"cuda.tsv", "nvml.tsv", "nccl.tsv", "libs.tsv"}

func loadCodes(fsys fs.FS) (*codeTables, error) {
	c := &codeTables{byNumber: map[string]*Code{}, bySymbol: map[string]*Code{}, byText: map[string]*Code{}}
	for _, name := range codeFiles {
		t := readTable(fsys, name, "api", "code", "symbol", "class", "action", "meaning_en", "meaning_zh")
		err := t.rows(func(r tableRow) {
			x := &Code{API: r.need("api"), Number: -1, Symbol: r.need("symbol"), Message: r.opt("message"), Class: r.need("class"),
				Sticky: r.oneOf("sticky", "", "yes", "no", "unknown"), Action: r.action("action"), Xids: r.list("xids", ";"), Since: r.opt("since"),
				Low: r.oneOf("confidence", "", "low") == "low", Sources: r.sources(), Meaning: r.mustText("meaning"), First: r.text("first")}
			if r.opt("code") != "" {
				x.Number = r.num("code")
				c.byNumber[x.API+":"+r.opt("code")] = x
			}
			c.all = append(c.all, x)
			c.remember(x)
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// remember indexes by symbol and text. The current rows come before the legacy ones
// in the files, so the first wins.
func (c *codeTables) remember(x *Code) {
	s := strings.ToLower(x.Symbol)
	if c.bySymbol[s] == nil || x.API == "cudnn9" {
		c.bySymbol[s] = x
	}
	if x.Message == "" {
		return
	}
	k := codeFamily(x.API) + ":" + lettersOf(x.Message)
	if c.byText[k] == nil {
		c.byText[k] = x
	}
}

func codeFamily(api string) string {
	switch api {
	case "driver", "runtime", "runtime-legacy":
		return "cuda"
	}
	return api
}

// Codes returns every code of every library, in table order.
func (t *TableSet) Codes() []*Code {
	c, _ := t.codes()
	if c == nil {
		return nil
	}
	return c.all
}

// CodeNumber looks up a number of an API.
func (t *TableSet) CodeNumber(api string, number int) (*Code, bool) {
	c, _ := t.codes()
	if c == nil {
		return nil, false
	}
	x, ok := c.byNumber[api+":"+itoa(number)]
	return x, ok
}

// CodeSymbol looks up a symbol, case ignored.
func (t *TableSet) CodeSymbol(symbol string) (*Code, bool) {
	c, _ := t.codes()
	if c == nil {
		return nil, false
	}
	x, ok := c.bySymbol[strings.ToLower(symbol)]
	return x, ok
}

// CodeText looks up a library's own message; family is cuda, nvml or an api.
func (t *TableSet) CodeText(family, text string) (*Code, bool) {
	c, _ := t.codes()
	if c == nil {
		return nil, false
	}
	x, ok := c.byText[family+":"+lettersOf(text)]
	return x, ok
}

// CUDA looks up a CUDA error by number in the era of today, runtime first.
func (t *TableSet) CUDA(number int) (*Code, bool) {
	if x, ok := t.CodeNumber("runtime", number); ok {
		return x, true
	}
	return t.CodeNumber("driver", number)
}

// NVML looks up an NVML return code.
func (t *TableSet) NVML(number int) (*Code, bool) { return t.CodeNumber("nvml", number) }

// Myth is a widespread wrong claim and what is true.
type Myth struct {
	ID      string
	About   []string // "xid.31", "cuda.2", fault ids, words
	Claim   Text
	Truth   Text
	Sources []string
}

func loadMyths(fsys fs.FS) ([]*Myth, error) {
	t := readTable(fsys, "myths.tsv", "id", "about", "claim_en", "claim_zh", "truth_en", "truth_zh")
	var out []*Myth
	err := t.rows(func(r tableRow) {
		out = append(out, &Myth{ID: r.need("id"), About: r.list("about", ";"), Claim: r.mustText("claim"), Truth: r.mustText("truth"), Sources: r.sources()})
	})
	return out, err
}

// Myths returns the myths about something ("xid.31"); all of them for "".
func (t *TableSet) Myths(about string) []*Myth {
	all, _ := t.myths()
	if about == "" {
		return all
	}
	var out []*Myth
	for _, m := range all {
		for _, a := range m.About {
			if strings.EqualFold(a, about) {
				out = append(out, m)
				break
			}
		}
	}
	return out
}

// Words are what people call a code: "xid.79" is "fallen off the bus" and 掉卡.
type Words struct {
	Key   string // xid.79, cuda.2, nvml.18, nccl.ncclRemoteError
	Words []string
}

func loadWords(fsys fs.FS) ([]Words, error) {
	t := readTable(fsys, "words.tsv", "key", "words")
	var out []Words
	err := t.rows(func(r tableRow) { out = append(out, Words{r.need("key"), r.list("words", ";")}) })
	return out, err
}

// Words returns what people call the codes.
func (t *TableSet) Words() []Words {
	w, _ := t.words()
	return w
}
