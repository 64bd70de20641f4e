package check

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/source"
)

// document writes readings as a probe does: subjects with their readings.
func document(f func(w *probe.Writer)) []byte {
	var b bytes.Buffer
	f(probe.NewWriter(&b))
	return b.Bytes()
}

// healthy is a node with n healthy GPUs.
func healthy(w *probe.Writer, n int) {
	w.Subject("node", "")
	w.Value("attached_gpus", n)
	w.Value("driver.version", "580.159.04")
	for i := range n {
		w.Subject("gpu", pci(i))
		w.Value("pci", pci(i))
		w.Value("index", i)
		w.Value("uuid", "GPU-"+strings.Repeat(string(rune('a'+i)), 8)+"-1111-2222-3333-444455556666")
		w.Value("name", "NVIDIA H100 80GB HBM3")
		w.Value("pcie.link.width.current", 16)
		w.Value("pcie.link.width.max", 16)
		w.Value("ecc.uncorrected.volatile.total", 0)
		w.Value("ecc.corrected.volatile.total", 0)
		w.Value("remapped_rows.pending", false)
		w.Value("remapped_rows.failure", false)
	}
}

func pci(i int) string { return "0000:" + string(rune('1'+i)) + "a:00.0" }

func judge(t *testing.T, o Options, docs ...[]byte) *report.Node {
	t.Helper()
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var inputs []source.Input
	for i, d := range docs {
		inputs = append(inputs, source.FromBytes([]string{"readings.txt", "kernel.log"}[i], d))
	}
	o.Lang = "en"
	n, err := Judge(t.Context(), cat, inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func faults(n *report.Node) string {
	var out []string
	for _, f := range n.Findings {
		if f.Role != gpumedic.RoleIncidental {
			out = append(out, f.Fault)
		}
	}
	return strings.Join(out, " ")
}

func TestStatus(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	live := Options{Live: true, ExpectGPUs: -1, Window: 24 * time.Hour, Now: now}
	xid31 := "2026-11-20T11:58:03+00:00 n1 kernel: NVRM: Xid (PCI:0000:2a:00): 31, pid=4242, name=train, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f2a_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ\n"
	xid79 := func(day string) string {
		return "2026-11-" + day + "T11:58:03+00:00 n1 kernel: NVRM: Xid (PCI:0000:2a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
	}
	for _, c := range []struct {
		name   string
		doc    func(w *probe.Writer)
		kernel string
		status int
		faults string
		states string
	}{
		{"healthy", func(w *probe.Writer) { healthy(w, 2) }, "", 0, "", "ok ok"},
		{"no GPU", func(w *probe.Writer) { healthy(w, 0) }, "", 3, "", ""},
		{"pending remap", func(w *probe.Writer) {
			healthy(w, 2)
			w.Subject("gpu", "0000:3a:00.0")
			w.Value("pci", "0000:3a:00.0")
			w.Value("index", 2)
			w.Value("remapped_rows.pending", true)
		}, "", 1, "row-remap-pending", "ok ok warning"},
		{"remap failure", func(w *probe.Writer) {
			healthy(w, 1)
			w.Subject("gpu", "0000:3a:00.0")
			w.Value("pci", "0000:3a:00.0")
			w.Value("index", 2)
			w.Value("remapped_rows.failure", true)
		}, "", 2, "row-remap-failure", "ok fault"},
		{"a value that cannot be read is not healthy", func(w *probe.Writer) {
			healthy(w, 1)
			w.Unknown("memory.used.mib", "unknown error", "nvmlDeviceGetMemoryInfo_v2: UNKNOWN")
		}, "", 3, "", "unknown"},
		{"absent is no error", func(w *probe.Writer) {
			healthy(w, 1)
			w.Absent("fan.speed.percent", "not supported")
		}, "", 0, "", "ok"},
		{"a program's fault leaves the node fit", func(w *probe.Writer) { healthy(w, 2) }, xid31, 1, "illegal-address", "ok warning"},
		{"a GPU lost an hour ago", func(w *probe.Writer) { healthy(w, 2) }, xid79("20"), 2, "gpu-fell-off-bus", "ok fault"},
		{"a GPU lost last week and back since", func(w *probe.Writer) { healthy(w, 2) }, xid79("13"), 0, "", "ok ok"},
		{"fewer than expected", func(w *probe.Writer) { healthy(w, 2); w.Subject("node", ""); w.Value("expected.gpus", 4) }, "", 2, "gpu-missing", "ok ok"},
	} {
		docs := [][]byte{document(c.doc)}
		if c.kernel != "" {
			docs = append(docs, []byte(c.kernel))
		}
		n := judge(t, live, docs...)
		var states []string
		for _, g := range n.GPUs {
			states = append(states, g.State)
		}
		if n.Status != c.status || faults(n) != c.faults || strings.Join(states, " ") != c.states {
			t.Errorf("%s: status %d, faults %q, states %v; want %d, %q, %s\n%+v %+v", c.name, n.Status, faults(n), states, c.status, c.faults, c.states, n.Unread, n.Unexplained)
		}
	}
}

func TestBaseline(t *testing.T) {
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	good := judge(t, Options{ExpectGPUs: -1}, document(func(w *probe.Writer) { healthy(w, 3) }))
	base := BaselineOf(good)
	base.Taken = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "state", "baseline.json")
	if err := base.Save(path); err != nil {
		t.Fatal(err)
	}
	read, err := ReadBaseline(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := toJSON(t, base), toJSON(t, read); a != b {
		t.Errorf("saved %s, read %s", a, b)
	}
	for _, c := range []struct {
		name, faults string
		gpus         int
	}{{"as it was", "", 3}, {"one gone", "gpu-missing", 2}} {
		doc := document(func(w *probe.Writer) {
			writeExpected(w, -1, read)
			healthy(w, c.gpus)
		})
		n, err := Judge(t.Context(), cat, []source.Input{source.FromBytes("readings.txt", doc)}, Options{Lang: "en", Live: true, ExpectGPUs: -1})
		if err != nil {
			t.Fatal(err)
		}
		if faults(n) != c.faults || len(n.GPUs) != c.gpus {
			t.Errorf("%s: %q with %d GPUs, want %q", c.name, faults(n), len(n.GPUs), c.faults)
		}
	}
	if err := os.WriteFile(path, []byte(`{"schema":"other"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBaseline(path); err == nil || !strings.Contains(err.Error(), "schema") {
		t.Errorf("a file of another form: %v", err)
	}
}

func toJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTableJoinsNames: what several tools say of one GPU is one row.
func TestTableJoinsNames(t *testing.T) {
	n := judge(t, Options{ExpectGPUs: -1}, []byte(`$ nvidia-smi -L
GPU 0: NVIDIA A10 (UUID: GPU-0f6d1a3c-3b45-4d2e-9a77-1f0e5c2b8a11)
GPU 1: NVIDIA A10 (UUID: GPU-1f6d1a3c-3b45-4d2e-9a77-1f0e5c2b8a12)
$ nvidia-smi --query-gpu=index,pci.bus_id,uuid,temperature.gpu --format=csv
index, pci.bus_id, uuid, temperature.gpu
0, 00000000:07:00.0, GPU-0f6d1a3c-3b45-4d2e-9a77-1f0e5c2b8a11, 41
1, 00000000:0A:00.0, GPU-1f6d1a3c-3b45-4d2e-9a77-1f0e5c2b8a12, 43
`))
	if len(n.GPUs) != 2 || n.GPUs[1].PCI != "0000:0a:00.0" || n.GPUs[1].Name != "NVIDIA A10" || n.GPUs[1].Temperature == nil || *n.GPUs[1].Temperature != 43 {
		t.Errorf("%+v", n.GPUs)
	}
}

func TestSystemTreeKeepsInside(t *testing.T) {
	inputs, done, err := Recorded(t.Context(), []string{"testdata/hostile-tree.tar"}, source.ExpandOptions{}, hostOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	n, err := Judge(t.Context(), mustCatalog(t), inputs, Options{Lang: "en", ExpectGPUs: -1})
	if err != nil {
		t.Fatal(err)
	}
	b := toJSON(t, n)
	if strings.Contains(b, "secret-of-this-machine") {
		t.Error("a link of the archive was followed out of it")
	}
}

func mustCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func hostOptions() host.Options { return host.Options{} }
