package catalog

import (
	"io/fs"
	"time"
)

// DriverBranch is a branch of the data-centre driver for Linux and how long NVIDIA
// keeps it.
type DriverBranch struct {
	Number  int
	Type    string    // long-term support, production, new feature, legacy
	End     time.Time // the first moment after its last month; zero without a date
	Ended   bool      // it has ended, whatever the date
	Sources []string
}

func loadBranches(fsys fs.FS) (map[int]*DriverBranch, error) {
	t := readTable(fsys, "driver-branches.tsv", "branch", "type", "eol", "sources")
	m := map[int]*DriverBranch{}
	return m, t.rows(func(r tableRow) {
		b := &DriverBranch{
			Number: r.num("branch"), Type: r.oneOf("type", "long-term support", "production", "new feature", "legacy"), Sources: r.sources(),
		}
		switch s := r.need("eol"); s {
		case "ended":
			b.Ended = true
		case "none":
		default:
			month, err := time.Parse("2006-01", s)
			if err != nil {
				r.fail("eol", "is neither a month, ended nor none: %s", s)
			}
			b.End = month.AddDate(0, 1, 0)
		}
		if m[b.Number] != nil {
			r.fail("branch", "%d is there twice", b.Number)
		}
		m[b.Number] = b
	})
}

// DriverBranch looks up a branch by its number, as 580.
func (t *TableSet) DriverBranch(number int) (*DriverBranch, bool) {
	m, _ := t.branches()
	b, ok := m[number]
	return b, ok
}

// CUDAFloor is the oldest driver that runs what a major version of the CUDA toolkit built.
type CUDAFloor struct {
	Major   int
	Branch  int    // 525
	Driver  string // 525.60.13
	Sources []string
}

func loadFloors(fsys fs.FS) (map[int]*CUDAFloor, error) {
	t := readTable(fsys, "cuda-floors.tsv", "cuda", "branch", "driver", "sources")
	m := map[int]*CUDAFloor{}
	return m, t.rows(func(r tableRow) {
		f := &CUDAFloor{Major: r.num("cuda"), Branch: r.num("branch"), Driver: r.need("driver"), Sources: r.sources()}
		if m[f.Major] != nil {
			r.fail("cuda", "%d is there twice", f.Major)
		}
		m[f.Major] = f
	})
}

// CUDAFloor looks up the floor of a major version of CUDA.
func (t *TableSet) CUDAFloor(major int) (*CUDAFloor, bool) {
	m, _ := t.floors()
	f, ok := m[major]
	return f, ok
}
