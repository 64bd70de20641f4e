package explain

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/golden"
)

func load(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tablesOnly is a catalog without faults and matchers: what the goldens show then
// depends on the vendor's tables alone.
func tablesOnly() *catalog.Catalog { return &catalog.Catalog{Faults: map[string]*catalog.Fault{}} }

func TestGoldens(t *testing.T) {
	c := tablesOnly()
	want := map[string]bool{}
	for name, q := range map[string]string{
		"xid-94": "xid 94", "xid-79": "Xid79", "xid-31": "xid: 31", "xid-154": "xid 154", "xid-74": "xid 74", "xid-145": "xid 145",
		"xid-149-line": "NVRM: Xid (PCI:0000:3b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000)",
		"xid-unknown":  "xid 999", "xid-177": "xid 177", "sxid-20034": "sxid 20034", "cuda-700": "cuda 700",
		"cuda-ecc": "CUDA_ERROR_ECC_UNCORRECTABLE", "nvml-18": "nvml 18", "nccl": "nccl ncclSystemError", "rminit": "rminit 0x62:0x40",
		"words-ecc": "uncorectable ecc", "number": "8",
		"set-debug": "NCCL_IB_DISABLE", "set-alias": "PYTORCH_CUDA_ALLOC_CONF", "set-alloc": "expandable_segments", "set-renamed": "NCCL_BLOCKING_WAIT",
		"set-missing": "TORCH_CUDA_DEBUG", "exit-137": "exit 137", "exit-1": "exit code 1", "exit-sigbus": "SIGBUS",
	} {
		for _, l := range []string{"en", "zh"} {
			p, err := Explain(c, q, l)
			if err != nil {
				t.Errorf("%s: %v", q, err)
				continue
			}
			file := filepath.Join("testdata", name+"."+l+".txt")
			want[file] = true
			got := "$ gpumedic explain --lang " + l + " '" + q + "'\n" + p.Text()
			golden.Check(t, file, []byte(got))
		}
	}
	files, _ := filepath.Glob("testdata/*.txt")
	for _, f := range files {
		if !want[f] {
			t.Errorf("%s: no test writes this golden any more", f)
		}
	}
}

// What a query must lead to, in the whole catalog.
func TestQueriesFindTheirPage(t *testing.T) {
	c := load(t)
	for q, want := range map[string]string{
		"xid 94": "xid.94", "XID94": "xid.94", "Xid: 94": "xid.94", "xid-94": "xid.94", "xid error 94": "xid.94", "xid.94": "xid.94", "94": "xid.94",
		"sxid 20034": "sxid.20034", "SXID:20034": "sxid.20034", "20034": "sxid.20034",
		"cuda 700": "cuda.700", "CUDA error 700": "cuda.700", "cuda.700": "cuda.700", "cudaErrorIllegalAddress": "cuda.700", "CUDA_ERROR_ILLEGAL_ADDRESS": "cuda.700",
		"RuntimeError: CUDA error: CUDA_ERROR_ECC_UNCORRECTABLE": "cuda.214",
		"nvml 18": "nvml.18", "NVML_ERROR_GPU_IS_LOST": "nvml.15", "nccl 6": "nccl.ncclRemoteError", "nccl ncclSystemError": "nccl.ncclSystemError",
		"CUBLAS_STATUS_ALLOC_FAILED": "cublas.CUBLAS_STATUS_ALLOC_FAILED", "cudnn 4004": "cudnn.CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
		"rminit 0x62:0x40": "nvrm.rminit_failed", "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x40:2393)": "nvrm.rminit_failed", "NV_ERR_GPU_IS_LOST": "NV_ERR_GPU_IS_LOST",
		"gpu-fell-off-bus": "gpu-fell-off-bus", "gpu fell off bus": "gpu-fell-off-bus", "recovery drain and reset": "recovery drain_reset", "RESET_GPU": "reset_gpu",
		"掉卡": "gpu-fell-off-bus", "fallen off the bus": "gpu-fell-off-bus",
		"NCCL_IB_DISABLE": "NCCL_IB_DISABLE", "nccl_ib_disable=1": "NCCL_IB_DISABLE", "export NCCL_P2P_DISABLE=1": "NCCL_P2P_DISABLE", "expandable_segments:True": "expandable_segments",
		"NCCL_DESYNC_DEBUG": "NCCL_DESYNC_DEBUG", "--shm-size": "--shm-size", "--shm-size=8g": "--shm-size", "torch.cuda.empty_cache()": "torch.cuda.empty_cache", "TORCH_CUDA_DEBUG": "TORCH_CUDA_DEBUG",
		"exit 137": "SIGKILL", "exit code 137": "SIGKILL", "exitcode: -9": "SIGKILL", "exitcode : -11": "SIGSEGV", "-9": "SIGKILL", "exit -11": "SIGSEGV", "exit 1": "exit 1", "exit status 139": "SIGSEGV",
		"SIGBUS": "SIGBUS", "sigbus": "SIGBUS", "signal 7": "SIGBUS", "signal SIGABRT": "SIGABRT", "0:9": "SIGKILL", "ExitCode=0:15": "SIGTERM", "1:0": "exit 1", "exit 3": "exit 3", "signal 40": "signal 40",
		"Bus error (core dumped)": "SIGBUS", "Segmentation fault": "SIGSEGV", "Killed": "SIGKILL", "returncode 134": "SIGABRT", "退出码 137": "SIGKILL", "exit exit:-9": "SIGKILL", "exited with code 1": "exit 1",
		"nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 24007, Fatal, sourcetrack timeout error (First)": "sxid.24007",
		"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.":                 "xid.79",
	} {
		for _, l := range []string{"en", "zh"} {
			p, err := Explain(c, q, l)
			if err != nil || p.Key != want {
				t.Errorf("%q (%s): key %q, error %v, want %q; suggestions %v", q, l, p.Key, err, want, p.Suggestions)
			}
		}
	}
}

// Words without one clear answer lead to suggestions that hold the right one.
func TestWordsSuggest(t *testing.T) {
	c := load(t)
	for q, want := range map[string]string{
		"fell off the bus": "xid.79|gpu-fell-off-bus|xid 79", "显存不足": "cuda.2", "out of memory": "cuda.2|cudaErrorMemoryAllocation", "行重映射": "xid.63|row-remap-pending|xid 63",
		"uncorectable ecc": "xid 48", "gsp tiemout": "gsp-rpc-timeout|xid 119", "nvlink down": "xid.149|nvlink-link-down|xid 149", "illegal memory access": "illegal-address|cudaErrorIllegalAddress",
		"nccl infiniband disable": "NCCL_IB_DISABLE", "NCCL_IB_DISABEL": "NCCL_IB_DISABLE", "shm size": "--shm-size", "段错误": "SIGSEGV",
		"driver library version mismatch": "nvml.18|driver-library-mismatch", "不可纠正错误": "xid.48|xid 48|ecc-uncorrectable", "device-side assert": "cuda.710|cudaErrorAssert",
	} {
		p, err := Explain(c, q, "zh")
		if err != nil {
			t.Errorf("%q: %v", q, err)
			continue
		}
		found := p.Key
		for _, s := range p.Suggestions {
			found += " | " + s.Key
		}
		ok := false
		for w := range strings.SplitSeq(want, "|") {
			ok = ok || strings.Contains(" | "+found+" | ", " | "+w+" | ")
		}
		if !ok {
			t.Errorf("%q leads to %s, want one of %s", q, found, want)
		}
	}
	for _, q := range []string{"", "   ", "blargh zzzqq", "\x00\xff"} {
		if p, err := Explain(c, q, "en"); err == nil {
			t.Errorf("%q gives %q", q, p.Title)
		}
	}
	if _, err := Explain(c, "blargh zzzqq", "en"); !errors.Is(err, ErrNothing) {
		t.Errorf("error %v is not ErrNothing", err)
	}
}

// Every page of every table fits the terminal in both languages, has sources and
// survives JSON.
func TestEveryPage(t *testing.T) {
	c := load(t)
	var queries []string
	for _, x := range c.Tables().Xids() {
		queries = append(queries, x.Kind())
	}
	for _, x := range c.Tables().SXids() {
		queries = append(queries, x.Kind())
	}
	for _, x := range c.Tables().Codes() {
		queries = append(queries, x.Symbol)
	}
	queries = append(queries, c.FaultIDs()...)
	for _, s := range c.Tables().Settings() {
		queries = append(append(queries, s.Name), s.Aliases...)
	}
	for i := range 256 {
		queries = append(queries, "exit "+strconv.Itoa(i))
	}
	for i := 1; i <= 64; i++ {
		queries = append(queries, "signal "+strconv.Itoa(i))
	}
	for _, q := range queries {
		for _, l := range []string{"en", "zh"} {
			p, err := Explain(c, q, l)
			if err != nil {
				t.Errorf("%s: %v", q, err)
				continue
			}
			if p.Kind == KindSearch || p.Meaning == "" || len(p.Sources) == 0 {
				t.Errorf("%s (%s): kind %s, meaning %q, sources %v", q, l, p.Kind, p.Meaning, p.Sources)
			}
			checkWidth(t, q, &p)
			if _, err := json.Marshal(p); err != nil {
				t.Error(err)
			}
		}
	}
}

// Faults that a page of an exit code points to are there.
func TestExitFaults(t *testing.T) {
	c := load(t)
	for _, e := range c.Tables().Exits() {
		for _, id := range e.Faults {
			if c.Faults[id] == nil {
				t.Errorf("exit %d %s: no fault %s", e.Number, e.Name, id)
			}
		}
	}
}

// checkWidth allows what must not be broken: addresses, commands and one long word.
func checkWidth(t *testing.T, q string, p *Page) {
	t.Helper()
	for line := range strings.SplitSeq(p.Text(), "\n") {
		if runewidth.StringWidth(line) <= Width || strings.HasPrefix(line, "    ") || strings.Contains(line, "http") {
			continue
		}
		if !strings.Contains(strings.TrimSpace(line), " ") {
			continue
		}
		t.Errorf("%s (%s): %d cells: %q", q, p.Lang, runewidth.StringWidth(line), line)
	}
}

func FuzzExplain(f *testing.F) {
	for _, s := range []string{"xid 79", "掉卡", "cuda 700", "0x62:0x40", "Xid (: 5", "\xff\xfe", "recovery 9", "nccl.", ".", "exit 137", "-9", "0:9", "NCCL_IB_DISABLE=1"} {
		f.Add(s)
	}
	c := tablesOnly()
	f.Fuzz(func(t *testing.T, q string) {
		p, err := Explain(c, q, "zh")
		if err == nil && p.Title == "" {
			t.Errorf("%q: no title", q)
		}
		_ = p.Text()
	})
}
