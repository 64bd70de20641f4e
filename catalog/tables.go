package catalog

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gpumedic/gpumedic"
)

// TableSet is the vendor's tables: what a number means. Each table loads when it is
// first asked for, since most runs need few of them. The embedded tables are checked
// by a test, so a lookup just says whether there is a row; [TableSet.Check] reports
// what is wrong with tables from elsewhere.
type TableSet struct {
	xid      func() (map[int]*Xid, error)
	sxid     func() (map[int]*SXid, error)
	nvlink5  func() ([]*NVLink5, error)
	reasons  func() (map[int]*LinkReason, error)
	nvlink4  func() (map[[2]int]string, error)
	recovery func() ([]*Recovery, error)
	buckets  func() (map[string]*Bucket, error)
	rminit   func() (map[string]*RmInit, error)
	aer      func() ([]*AERBit, error)
	codes    func() (*codeTables, error)
	myths    func() ([]*Myth, error)
	words    func() ([]Words, error)
	settings func() ([]*Setting, error)
	exits    func() ([]*Exit, error)
	branches func() (map[int]*DriverBranch, error)
	floors   func() (map[int]*CUDAFloor, error)
	env      func() (*EnvTable, error)
}

// Tables returns the tables that ship in the program.
var Tables = sync.OnceValue(func() *TableSet { return OpenTables(embedded) })

// OpenTables prepares the tables below tables/ of a catalog tree.
func OpenTables(fsys fs.FS) *TableSet {
	return &TableSet{
		xid:      sync.OnceValues(func() (map[int]*Xid, error) { return loadXid(fsys) }),
		sxid:     sync.OnceValues(func() (map[int]*SXid, error) { return loadSXid(fsys) }),
		nvlink5:  sync.OnceValues(func() ([]*NVLink5, error) { return loadNVLink5(fsys) }),
		reasons:  sync.OnceValues(func() (map[int]*LinkReason, error) { return loadReasons(fsys) }),
		nvlink4:  sync.OnceValues(func() (map[[2]int]string, error) { return loadNVLink4(fsys) }),
		recovery: sync.OnceValues(func() ([]*Recovery, error) { return loadRecovery(fsys) }),
		buckets:  sync.OnceValues(func() (map[string]*Bucket, error) { return loadBuckets(fsys) }),
		rminit:   sync.OnceValues(func() (map[string]*RmInit, error) { return loadRmInit(fsys) }),
		aer:      sync.OnceValues(func() ([]*AERBit, error) { return loadAER(fsys) }),
		codes:    sync.OnceValues(func() (*codeTables, error) { return loadCodes(fsys) }),
		myths:    sync.OnceValues(func() ([]*Myth, error) { return loadMyths(fsys) }),
		words:    sync.OnceValues(func() ([]Words, error) { return loadWords(fsys) }),
		settings: sync.OnceValues(func() ([]*Setting, error) { return loadSettings(fsys) }),
		exits:    sync.OnceValues(func() ([]*Exit, error) { return loadExits(fsys) }),
		branches: sync.OnceValues(func() (map[int]*DriverBranch, error) { return loadBranches(fsys) }),
		floors:   sync.OnceValues(func() (map[int]*CUDAFloor, error) { return loadFloors(fsys) }),
		env:      sync.OnceValues(func() (*EnvTable, error) { return loadEnv(fsys) }),
	}
}

// Tables returns the vendor's tables that belong to the catalog.
func (c *Catalog) Tables() *TableSet { return Tables() }

// Check loads every table and follows the references between them.
func (t *TableSet) Check() error {
	xids, e1 := t.xid()
	_, e2 := t.sxid()
	links, e3 := t.nvlink5()
	_, e4 := t.reasons()
	_, e5 := t.nvlink4()
	_, e6 := t.recovery()
	buckets, e7 := t.buckets()
	_, e8 := t.rminit()
	_, e9 := t.aer()
	_, e10 := t.codes()
	_, e11 := t.myths()
	_, e12 := t.words()
	settings, e13 := t.settings()
	_, e14 := t.exits()
	_, e15 := t.branches()
	_, e16 := t.floors()
	_, e17 := t.env()
	err := errors.Join(e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16, e17)
	for _, s := range settings {
		for _, name := range s.Instead {
			if _, ok := t.Setting(name); !ok {
				err = errors.Join(err, errors.New("setting "+s.Name+": no setting "+name+" to use instead"))
			}
		}
	}
	known := func(where, id string) {
		if id != "" && buckets[id] == nil {
			err = errors.Join(err, errors.New(where+": no bucket "+id))
		}
	}
	for _, x := range sorted(xids) {
		known(x.Kind(), x.Immediate)
		known(x.Kind(), x.Investigatory)
	}
	for _, l := range links {
		known("nvlink5 "+l.Unit, l.Immediate)
		known("nvlink5 "+l.Unit, l.Investigatory)
		if l.Reason >= 0 {
			if _, ok := t.LinkReason(l.Reason); !ok {
				err = errors.Join(err, errors.New("nvlink5: no reason "+itoa(l.Reason)))
			}
		}
	}
	return err
}

// Xid is one row of the Xid catalogue.
type Xid struct {
	Code          int
	Mnemonic      string
	Classes       []string // likeliest first
	Level         gpumedic.Level
	Applies       []string // GPU generations; "none", "unknown"
	Immediate     string   // bucket ids
	Investigatory string
	Action        string // what to do when only the number is known
	Then          string // when it comes back
	Scope         string // process, gpu, link, node
	Follows       []string
	Verdict154    string // driver branch from which Xid 154 accompanies it
	Low           bool   // second-hand or weak source
	Sources       []string
	Meaning       Text
	Causes        Text
	CheckFor      Text
}

// Kind is the signal kind of the code.
func (x *Xid) Kind() string { return "xid." + itoa(x.Code) }

// Class is the likeliest class.
func (x *Xid) Class() string { return x.Classes[0] }

func loadXid(fsys fs.FS) (map[int]*Xid, error) {
	t := readTable(fsys, "xid.tsv", "code", "mnemonic", "classes", "level", "action", "meaning_en", "meaning_zh")
	m := map[int]*Xid{}
	return m, t.rows(func(r tableRow) {
		level, _ := gpumedic.ParseLevel(r.oneOf("level", "fact", "notice", "abnormal"))
		x := &Xid{
			Code: r.num("code"), Mnemonic: r.need("mnemonic"), Classes: r.list("classes", ";"), Level: level,
			Applies: r.list("applies", ";"), Immediate: r.opt("immediate"), Investigatory: r.opt("investigatory"),
			Action: r.action("action"), Then: r.action("then"), Scope: r.oneOf("scope", "process", "gpu", "link", "node"),
			Follows: r.list("follows", ";"), Verdict154: r.opt("verdict154"), Low: r.oneOf("confidence", "", "low") == "low",
			Sources: r.sources(), Meaning: r.mustText("meaning"), Causes: r.text("causes"), CheckFor: r.text("check"),
		}
		r.need("action")
		if len(x.Classes) == 0 {
			r.fail("classes", "is empty")
		}
		if m[x.Code] != nil {
			r.fail("code", "%d is there twice", x.Code)
		}
		m[x.Code] = x
	})
}

// Xid looks up a code.
func (t *TableSet) Xid(code int) (*Xid, bool) {
	m, _ := t.xid()
	x, ok := m[code]
	return x, ok
}

// Xids returns all rows by code.
func (t *TableSet) Xids() []*Xid {
	m, _ := t.xid()
	return sorted(m)
}

// SXid is one NVSwitch error.
type SXid struct {
	Code     int
	Name     string
	Unit     string
	Fatality string // always_fatal, potentially_fatal, fatal, nonfatal, depends_containment, depends_chip, not_stated, unknown
	Level    gpumedic.Level
	Action   string
	Recovery string // token: ignore, reset_all, restart_jobs, reboot, …
	Switch2  string // what the driver prints on NVSwitch 2 and 3
	Switch3  string
	Sources  []string
	Meaning  Text
	Impact   Text
	Advice   Text
}

// Kind is the signal kind of the code.
func (x *SXid) Kind() string { return "sxid." + itoa(x.Code) }

func loadSXid(fsys fs.FS) (map[int]*SXid, error) {
	t := readTable(fsys, "sxid.tsv", "code", "name", "fatality", "level", "meaning_en", "meaning_zh")
	m := map[int]*SXid{}
	return m, t.rows(func(r tableRow) {
		level, _ := gpumedic.ParseLevel(r.oneOf("level", "fact", "notice", "abnormal"))
		x := &SXid{
			Code: r.num("code"), Name: r.need("name"), Unit: r.need("unit"),
			Fatality: r.oneOf("fatality", "always_fatal", "potentially_fatal", "fatal", "nonfatal",
				"depends_containment", "depends_chip", "not_stated", "unknown"),
			Level: level, Action: r.action("action"), Recovery: r.need("recovery"),
			Switch2: r.opt("nvswitch2"), Switch3: r.opt("nvswitch3"), Sources: r.sources(),
			Meaning: r.mustText("meaning"), Impact: r.text("impact"), Advice: r.text("recovery"),
		}
		if m[x.Code] != nil {
			r.fail("code", "%d is there twice", x.Code)
		}
		m[x.Code] = x
	})
}

// SXid looks up a code.
func (t *TableSet) SXid(code int) (*SXid, bool) {
	m, _ := t.sxid()
	x, ok := m[code]
	return x, ok
}

// SXids returns all rows by code.
func (t *TableSet) SXids() []*SXid {
	m, _ := t.sxid()
	return sorted(m)
}

// Bucket is one of NVIDIA's resolution buckets.
type Bucket struct {
	ID      string
	Action  string
	Sources []string
	Meaning Text
	Steps   Text
}

func loadBuckets(fsys fs.FS) (map[string]*Bucket, error) {
	t := readTable(fsys, "buckets.tsv", "bucket", "action", "meaning_en", "meaning_zh")
	m := map[string]*Bucket{}
	return m, t.rows(func(r tableRow) {
		b := &Bucket{ID: r.need("bucket"), Action: r.action("action"), Sources: r.sources(), Meaning: r.mustText("meaning"), Steps: r.mustText("steps")}
		m[b.ID] = b
	})
}

// Bucket looks up a bucket by its id, which is NVIDIA's name in lower case.
func (t *TableSet) Bucket(id string) (*Bucket, bool) {
	m, _ := t.buckets()
	b, ok := m[strings.ToLower(id)]
	return b, ok
}

// Buckets returns all buckets by id.
func (t *TableSet) Buckets() []*Bucket {
	m, _ := t.buckets()
	return sorted(m)
}

// sorted returns the values of m in the order of its keys.
func sorted[K int | string, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
