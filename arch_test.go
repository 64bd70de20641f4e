package gpumedic_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/gpumedic/gpumedic"

// mayImport is the table of ARCHITECTURE.md: a room and the rooms of ours that it may
// import besides the glossary at the root. A new edge needs a line here, with a reason.
var mayImport = map[string][]string{
	"":                {},
	"catalog":         {},
	"internal/lang":   {},
	"internal/layout": {},
	"internal/lazyre": {},
	"internal/topo":   {},
	"internal/kmsg":   {},
	"internal/child":  {},
	"internal/driver": {},
	"internal/probe":  {},
	// replace writes files whole: reports, baselines, evidence packages.
	"internal/replace": {},
	// host reads the tables of driver branches and CUDA floors; the dates it is given.
	"internal/probe/host":  {"catalog", "internal/kmsg", "internal/probe", "internal/lazyre"},
	"internal/driver/nvml": {"internal/driver"},
	// the GPU probe reads NVML, writes a document, and is itself the child's task.
	"internal/probe/gpu": {"internal/driver", "internal/driver/nvml", "internal/probe", "internal/child", "internal/lean"},
	"internal/frame":     {"internal/lazyre"},
	"internal/source":    {"internal/lazyre"},
	// sourcetest packs inputs for tests.
	"internal/source/sourcetest": {},
	"internal/scan/literal":      {},
	"internal/scan/section":      {"catalog", "internal/lazyre"},
	// scan follows tracebacks and reads flight-recorder dumps as it meets them.
	"internal/scan":           {"catalog", "internal/source", "internal/frame", "internal/scan/literal", "internal/scan/section", "internal/scan/traceback", "internal/flight", "internal/lazyre", "internal/series"},
	"internal/scan/traceback": {"internal/lazyre"},
	"internal/flight":         {},
	"internal/series":         {"internal/lazyre"},
	"internal/decode":         {"catalog", "internal/lazyre"},
	"internal/ranks":          {},
	"internal/node":           {}, // pure, like ranks: what lines of one machine say together
	"internal/diagnose":       {"catalog", "internal/node", "internal/ranks", "internal/topo", "internal/lazyre"},
	"internal/explain":        {"catalog", "internal/decode", "internal/lang", "internal/layout", "internal/lazyre"},
	// lint reads scripts and manifests, not logs: its parsers are its own, and its answer
	// is written by itself since it is a list of settings, not a report.
	"internal/lint": {"catalog", "internal/lang", "internal/layout", "internal/lazyre"},
	// report's form for Prometheus and the daemon's exporter share one list of metrics.
	"internal/report":        {"internal/lang", "internal/layout", "internal/lazyre", "internal/metrics/names"},
	"internal/metrics/names": {},
	// metricstest makes the snapshots of the exporter's tests and of e2e/prometheus.
	"internal/metrics/metricstest": {"internal/metrics", "internal/scan/section"},
	// the rule file goes into the program as it is.
	"deploy/prometheus": {},
	// promql answers the rules' expressions; alert is what follows from them: whether an
	// incident tells of the same is asked of incidents and of the catalog. Both are pure.
	"internal/promql": {},
	"internal/alert":  {"catalog", "internal/incident", "internal/promql"},
	// metrics shows readings, so it knows their form.
	"internal/metrics": {"internal/metrics/names", "internal/scan/section"},
	// offline wires source, scan, decode and diagnose for recorded input.
	// It says in both languages when nothing is of the time asked for.
	"internal/offline": {"catalog", "internal/decode", "internal/diagnose", "internal/lang", "internal/scan", "internal/scan/section", "internal/source"},
	// check judges readings, live or recorded, with the wiring of recorded input.
	"internal/check": {"catalog", "internal/child", "internal/lang", "internal/lint", "internal/offline", "internal/probe", "internal/probe/gpu", "internal/probe/host", "internal/replace", "internal/report", "internal/scan/section", "internal/source"},
	// incident takes the action ladder, which the engine climbs too.
	"internal/incident": {"catalog"},
	// store alone knows SQLite; it writes what incident decides.
	"internal/incident/store": {"internal/incident"},
	"internal/incident/show":  {"catalog", "internal/incident", "internal/lang", "internal/layout"},
	// notify writes its messages with the program's own words for actions.
	"internal/act/notify": {"internal/lang"},
	// web shows what the daemon knows: it names the store's filter and errors, and takes the
	// texts of incidents from show. It judges nothing and never imports the daemon.
	"internal/web": {"catalog", "internal/incident", "internal/incident/show", "internal/incident/store", "internal/lang", "internal/report"},
	// webtest makes nodes for tests of the page with the engine and a store.
	"internal/web/webtest": {"catalog", "internal/incident", "internal/incident/store", "internal/maintenance", "internal/offline", "internal/report", "internal/source", "internal/web"},
	// follow reads logs that go on; what stands in them is not its business.
	"internal/follow": {"internal/kmsg"},
	// lean gives back pages of the program's file.
	"internal/lean": {},
	// maintenance is a calendar; what was done is in the store.
	"internal/maintenance": {"internal/incident", "internal/incident/store"},
	// verify takes up an incident and runs the checks that its fault names.
	"internal/verify": {"catalog", "internal/incident", "internal/report"},
	// watch is the daemon: it wires sources, the engine, the store and the outlets.
	"internal/watch": {"catalog", "deploy/prometheus", "internal/act/notify", "internal/alert", "internal/check", "internal/child", "internal/decode", "internal/diagnose", "internal/follow",
		"internal/incident", "internal/incident/store", "internal/lang", "internal/lazyre", "internal/lean", "internal/maintenance", "internal/metrics", "internal/metrics/names", "internal/promql",
		"internal/probe", "internal/probe/gpu", "internal/probe/host", "internal/report", "internal/scan", "internal/scan/section", "internal/source", "internal/web"},
	// catalogtest runs a catalog's own cases through the same wiring as the command.
	"internal/catalogtest": {"catalog", "internal/offline", "internal/source", "internal/scan", "internal/scan/section", "internal/decode"},
	// golden is for tests alone.
	"internal/golden": {},
	// catalogdoc writes the pages of docs/faults from the catalog.
	"internal/catalogdoc": {"catalog", "internal/lang"},
	// cuda binds libcuda.so.1; burn drives GPUs through it, each in a child process, and
	// writes what it found as a readings document. cudafake is for tests alone.
	"internal/driver/cuda":          {"internal/driver"},
	"internal/driver/cuda/cudafake": {"internal/driver"},
	"internal/probe/sensors":        {"internal/child", "internal/driver/nvml", "internal/probe"},
	"internal/burn":                 {"internal/child", "internal/driver/cuda", "internal/lang", "internal/probe"},
	// cmd wires everything.
	"cmd/gpumedic": {"*"},
}

// pure rooms read no clock and do no I/O, so that every incident replays.
var pure = map[string][]string{
	"":                  {"os", "net", "net/http", "io/fs", "os/exec"},
	"internal/diagnose": {"os", "net", "net/http", "io/fs", "os/exec", "io"},
	"internal/topo":     {"os", "net", "net/http", "io/fs", "os/exec", "io"},
	"internal/lint":     {"os", "net", "net/http", "io/fs", "os/exec"},
	"internal/incident": {"os", "net", "net/http", "io/fs", "os/exec", "io", "database/sql"},
	"internal/alert":    {"os", "net", "net/http", "io/fs", "os/exec", "io", "database/sql"},
	"internal/promql":   {"os", "net", "net/http", "io/fs", "os/exec", "io", "database/sql"},
}

func TestImportTable(t *testing.T) {
	for dir, imports := range packageImports(t) {
		allowed, known := mayImport[dir]
		if !known {
			t.Errorf("package %q is not in the import table", dir)
			continue
		}
		for _, imp := range imports {
			ours, ok := strings.CutPrefix(imp, module)
			if ok {
				ours = strings.TrimPrefix(ours, "/")
				if ours != "" && !slices.Contains(allowed, ours) && !slices.Contains(allowed, "*") {
					t.Errorf("%q imports %q: not in the table", dir, ours)
				}
				continue
			}
			if slices.Contains(pure[dir], imp) {
				t.Errorf("%q is pure and imports %q", dir, imp)
			}
			if dir == "" && strings.Contains(imp, ".") {
				t.Errorf("the glossary imports %q: only the standard library", imp)
			}
		}
	}
}

// TestDatabaseStaysOut: what reads logs and judges them must not carry a database along.
func TestDatabaseStaysOut(t *testing.T) {
	for dir, imports := range packageImports(t) {
		for _, imp := range imports {
			if strings.HasPrefix(imp, "modernc.org/") && dir != "internal/incident/store" {
				t.Errorf("%q imports %q: only internal/incident/store may", dir, imp)
			}
		}
	}
}

// TestNoClockInTheMiddle looks for time.Now in the rooms whose answer must be a
// function of their input.
func TestNoClockInTheMiddle(t *testing.T) {
	for _, dir := range []string{"internal/diagnose", "internal/topo", "internal/frame", "internal/decode", "internal/scan/section", "catalog", "internal/report", "internal/lint", "internal/incident", "internal/alert", "internal/promql"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "time.Now(") {
				t.Errorf("%s reads the clock", f)
			}
		}
	}
}

// TestNoCompilingAtStart: an expression at package level compiles at every start of the
// program, whatever it was started for.
func TestNoCompilingAtStart(t *testing.T) {
	for dir := range packageImports(t) {
		if dir == "catalog" || dir == "internal/lazyre" {
			continue // knowledge imports nothing of ours
		}
		eachFile(t, dir, func(path string) {
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
					ast.Inspect(g, func(n ast.Node) bool {
						if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "MustCompile" {
							t.Errorf("%s: regexp.MustCompile at package level: use lazyre.New", path)
						}
						_, inside := n.(*ast.FuncLit)
						return !inside
					})
				}
			}
		})
	}
}

// TestPackageComments: exactly one file of a package explains it.
func TestPackageComments(t *testing.T) {
	for dir := range packageImports(t) {
		n := 0
		eachFile(t, dir, func(path string) {
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				n++
			}
		})
		if n != 1 {
			t.Errorf("package %q has %d package comments, want 1", dir, n)
		}
	}
}

func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "tools" || path == "bench" || path == "e2e") {
			return filepath.SkipDir // e2e and tools hold modules of their own
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." {
			dir = ""
		}
		out[dir] = append(out[dir], importsOf(f.Imports)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func importsOf(specs []*ast.ImportSpec) []string {
	var out []string
	for _, s := range specs {
		if p, err := strconv.Unquote(s.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func eachFile(t *testing.T, dir string, f func(path string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if !strings.HasSuffix(path, "_test.go") {
			f(path)
		}
	}
}
