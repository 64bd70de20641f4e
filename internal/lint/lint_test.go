package lint

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/golden"
	"github.com/gpumedic/gpumedic/internal/layout"
)

func load(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// short is "line level NAME problem" of each finding.
func short(r *Result) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, strings.Join([]string{strconv.Itoa(f.Line), f.Level, f.Name, f.Problem}, " "))
	}
	return out
}

func TestWhatIsFound(t *testing.T) {
	cat := load(t)
	f := func(name, body string, want ...string) {
		t.Helper()
		r := Lint(cat, "en", []Source{{Name: name, Data: []byte(body)}})
		if got := short(r); !slices.Equal(got, want) {
			t.Errorf("%s %q:\ngot  %q\nwant %q", name, body, got, want)
		}
	}
	// the ways of a shell
	f("a.sh", "export NCCL_P2P_DISABLE=1\n", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "#!/bin/sh\n\nNCCL_P2P_DISABLE='1' \\\n  python x.py", "3 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "env -u FOO A=1 NCCL_P2P_DISABLE=1 python x.py", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "sudo -E NCCL_P2P_DISABLE=1 python x.py", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "srun env NCCL_P2P_DISABLE=1 python x.py", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "mpirun -np 2 \\\n -x NCCL_P2P_DISABLE=1 ./x", "2 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "docker run --rm -eNCCL_P2P_DISABLE=1 img", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "docker run --env=NCCL_P2P_DISABLE=1 img", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "mpiexec -genv NCCL_P2P_DISABLE 1 ./x", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "ssh host 'cd x; NCCL_P2P_DISABLE=1 ./x'", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "kubectl set env deploy/x NCCL_P2P_DISABLE=1", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "X=1\nexport NCCL_P2P_DISABLE=$X\n", "2 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "export NCCL_P2P_DISABLE=${P2P:-1}\n", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "cat > e.env <<EOF\nNCCL_P2P_DISABLE=1\nEOF\n", "2 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "cat <<-EOF | sbatch\n\t#!/bin/bash\n\t#SBATCH -N 2\n\texport NCCL_P2P_DISABLE=1\n\tEOF\nls", "4 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "set -a\nNCCL_P2P_DISABLE=1\nset +a\npython x.py", "2 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "NCCL_P2P_DISABLE=1\nexport NCCL_P2P_DISABLE\npython x.py", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "NCCL_P2P_DISABLE=1\npython x.py", "1 warning NCCL_P2P_DISABLE unexported")
	f("a.sh", "HF_MODEL=x\nMY_NCCL_DEBUG=1\npython x.py")
	f("a.csh", "setenv NCCL_P2P_DISABLE 1\n", "1 warning NCCL_P2P_DISABLE debug")
	f("a.sh", "export HF_HUB_OFFLINE=1\nexport HF_HUB_OFFLINE=0\n", "2 warning HF_HUB_OFFLINE twice")
	// and what is none
	f("a.sh", "# export NCCL_P2P_DISABLE=1\necho NCCL_P2P_DISABLE=1\nexport NCCL_P2P_DISABLE=0\nexport NCCL_P2P_DISABLE=$(f)\n")
	f("a.sh", "export NCCL_P2P_DISABLE=<0 or 1>\nexport NCCL_SOCKET_IFNAME=<lo>\n")
	f("a.sh", "if a; then export HF_HUB_OFFLINE=1; else export HF_HUB_OFFLINE=0; fi")
	f("a.sh", "cat <<EOF\nNCCL_P2P_DISABLE=1 is bad\nEOF\n")
	// values
	f("x.env", "PYTORCH_CUDA_ALLOC_CONF=max_split_size:128", "1 error PYTORCH_CUDA_ALLOC_CONF value")
	f("x.env", "PYTORCH_ALLOC_CONF=roundup_power2_divisions:[256:1,512:2,>:4],expandable_segments:False")
	f("x.env", "PYTORCH_ALLOC_CONF=backend:cudaMallocAsync,max_split_size_mb:512", "1 warning PYTORCH_ALLOC_CONF value")
	f("x.env", "CUDA_VISIBLE_DEVICES=0,GPU-12,MIG-aa/1/0")
	f("x.env", "CUDA_VISIBLE_DEVICES=0,0", "1 error CUDA_VISIBLE_DEVICES value")
	f("x.env", "CUDA_VISIBLE_DEVICES=0,x", "1 warning CUDA_VISIBLE_DEVICES value")
	f("x.env", "CUDA_VISIBLE_DEVICES=", "1 warning CUDA_VISIBLE_DEVICES harmful")
	f("x.env", "NCCL_IB_TIMEOUT=40\nNCCL_IB_QPS_PER_CONNECTION=4\nNCCL_BUFFSIZE=8M", "1 warning NCCL_IB_TIMEOUT value", "3 warning NCCL_BUFFSIZE value")
	f("x.env", "TORCH_CUDA_ARCH_LIST=8.0 9.0a+PTX\nCUBLAS_WORKSPACE_CONFIG=:4096:8")
	f("x.env", "TORCH_CUDA_ARCH_LIST=sm_90\nCUBLAS_WORKSPACE_CONFIG=4096", "1 error TORCH_CUDA_ARCH_LIST value", "2 warning CUBLAS_WORKSPACE_CONFIG value")
	f("x.env", "TORCH_DISTRIBUTED_DEBUG=1", "1 error TORCH_DISTRIBUTED_DEBUG value")
	// as measured with PyTorch 2.11 and driver 580
	f("x.env", "TORCH_NCCL_BLOCKING_WAIT=maybe", "1 error TORCH_NCCL_BLOCKING_WAIT value")
	f("x.env", "TORCH_NCCL_ASYNC_ERROR_HANDLING=true", "1 error TORCH_NCCL_ASYNC_ERROR_HANDLING value")
	f("x.env", "TORCH_NCCL_ASYNC_ERROR_HANDLING=7\nTORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=10m", "1 warning TORCH_NCCL_ASYNC_ERROR_HANDLING value", "2 warning TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC value")
	f("x.env", "PYTORCH_ALLOC_CONF=max_split_size_mb:128MB", "1 warning PYTORCH_ALLOC_CONF value")
	f("x.env", "CUDA_VISIBLE_DEVICES=0;1\n", "1 warning CUDA_VISIBLE_DEVICES value")
	f("x.env", "CUDA_VISIBLE_DEVICES=cuda:0\n", "1 error CUDA_VISIBLE_DEVICES value")
	f("x.env", "CUDA_VISIBLE_DEVICES=0, 1\n")
	// names
	f("x.env", "NCCL_SOCKET_IFNMAE=eth0", "1 warning NCCL_SOCKET_IFNMAE unknown")
	f("x.env", "NCLL_SOCKET_IFNAME=eth0", "1 warning NCLL_SOCKET_IFNAME unknown")
	f("x.env", "NCCL_HEARTBEAT_TIMEOUT_SEC=10\nTORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=600\nTORCH_NCCL_HEARTBEAT_TIMEOUT=600", "1 warning NCCL_HEARTBEAT_TIMEOUT_SEC unknown")
	f("x.env", "TORCH_CUDA_ALLOC_CONF=x", "1 notice TORCH_CUDA_ALLOC_CONF unknown")
	f("x.env", "NCCL_ACME_FOO=1", "1 notice NCCL_ACME_FOO unknown")
	f("x.env", "CUDA_ACME_FOO=1\nNCCL_FASTRAK_IFNAME=eth1\nHCCL_ASYNC_ERROR_HANDLING=0\nRCCL_DEBUG_FILE=x\nMUSA_VISIBLE_DEVICES=0\nRAY_LOGGING_LEVEL=x\nVLLM_MINE=1\nCUDA_HOME_12=/x\nGH_TOKEN=a")
	f("x.env", "TF_CPP_MIN_VLOG_LEVEL=1", "1 warning TF_CPP_MIN_VLOG_LEVEL renamed")
	f("x.env", "TORCH_CUDA_DEBUG=1", "1 warning TORCH_CUDA_DEBUG unknown")
	// pairs
	f("x.env", "NCCL_IB_DISABLE=1\nNCCL_IB_HCA=mlx5_0", "1 warning NCCL_IB_DISABLE conflict")
	f("x.env", "CUDA_FORCE_PTX_JIT=1\nCUDA_DISABLE_PTX_JIT=1", "2 error CUDA_DISABLE_PTX_JIT conflict", "1 warning CUDA_FORCE_PTX_JIT debug")
	// several nodes, told by the launcher
	f("a.sh", "export MASTER_ADDR=127.0.0.1\ntorchrun --nnodes 2 x.py", "1 error MASTER_ADDR harmful")
	f("a.sh", "export MASTER_ADDR=127.0.0.1\ntorchrun --nnodes 1 x.py")
}

// Goldens of whole files: one of lines a file, and the forms for people.
func TestGolden(t *testing.T) {
	cat := load(t)
	files, _ := filepath.Glob("testdata/in/*")
	var all []Source
	wanted := map[string]bool{}
	write := func(name string, r *Result, format string, o Options) {
		t.Helper()
		wanted[name] = true
		var b bytes.Buffer
		if err := r.Write(&b, format, o); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", "golden", name), b.Bytes())
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s := Source{Name: filepath.Base(f), Data: b}
		all = append(all, s)
		write(s.Name+".lines", Lint(cat, "en", []Source{s}), "lines", Options{Lang: "en"})
	}
	write("all.en.txt", Lint(cat, "en", all), "text", Options{Lang: "en"})
	write("all.zh.txt", Lint(cat, "zh", all), "text", Options{Lang: "zh"})
	write("compose.json", Lint(cat, "en", all[2:3]), "json", Options{Lang: "en"})
	have, _ := filepath.Glob("testdata/golden/*")
	for _, g := range have {
		if !wanted[filepath.Base(g)] {
			t.Errorf("%s belongs to no input", g)
		}
	}
}

var uncut = regexp.MustCompile(`^ {11}(\S+\.\S+/|write  |改为  )`)

func TestTextFitsTheTerminal(t *testing.T) {
	for _, f := range []string{"all.en.txt", "all.zh.txt"} {
		b, err := os.ReadFile(filepath.Join("testdata", "golden", f))
		if err != nil {
			t.Fatal(err)
		}
		for n, l := range strings.Split(string(b), "\n") {
			if layout.Cells(l) > 80 && !uncut.MatchString(l) {
				t.Errorf("%s:%d is %d cells wide: %s", f, n+1, layout.Cells(l), l)
			}
		}
	}
}

func TestEnviron(t *testing.T) {
	cat := load(t)
	r := Environ(cat, "zh", []string{"PATH=/bin", "CUDA_VISIBLE_DEVICES=all", "HUGGING_FACE_HUB_TOKEN=hf_abc", "NCCL_DEBUG=WARN"})
	if got := short(r); !slices.Equal(got, []string{"0 error CUDA_VISIBLE_DEVICES value", "0 notice HUGGING_FACE_HUB_TOKEN deprecated"}) {
		t.Errorf("got %q", got)
	}
	if r.ExitStatus() != gpumedic.ExitFault || r.Verdict != gpumedic.VerdictFault {
		t.Errorf("status %d, verdict %s", r.ExitStatus(), r.Verdict)
	}
	f := r.Findings[0].Report()
	if f.Fault != "gpu-not-visible" || f.Evidence[0].Signal != "env.cuda_visible_devices" || f.Role != gpumedic.RoleRoot {
		t.Errorf("finding %+v", f)
	}
	var b bytes.Buffer
	for _, form := range Formats {
		if err := r.Write(&b, form, Options{Lang: "zh"}); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(b.String(), "hf_abc") {
		t.Error("a token is printed")
	}
	if same := Lint(cat, "zh", []Source{{Name: "environ", Data: []byte("A=1\x00CUDA_VISIBLE_DEVICES=all\x00")}}); len(same.Findings) != 1 {
		t.Errorf("environ with NUL: %q", short(same))
	}
}

func TestStatus(t *testing.T) {
	cat := load(t)
	f := func(want int, sources ...Source) {
		t.Helper()
		if r := Lint(cat, "en", sources); r.ExitStatus() != want {
			t.Errorf("status %d, want %d: %q", r.ExitStatus(), want, short(r))
		}
	}
	good, bad, unread := Source{Name: "a", Data: []byte("export NCCL_DEBUG=WARN")}, Source{Name: "b", Data: []byte("export NCCL_P2P_DISABLE=1")}, Source{Name: "c", Err: os.ErrPermission}
	f(gpumedic.ExitHealthy, good)
	f(gpumedic.ExitWarning, good, bad)
	f(gpumedic.ExitUnknown, good, unread)
	f(gpumedic.ExitWarning, bad, unread)
	f(gpumedic.ExitUnknown, Source{Name: "x", Data: []byte("\x7fELF\x00\x01\x02 no text")})
	f(gpumedic.ExitHealthy, Source{Name: "n", Data: []byte("export NCCL_DEBUG=INFO")}) // a notice is no warning
}

// Every form that a table names is one that the linter knows, every fault of a rule is
// in the catalog, and every rule can be reached.
func TestTablesFit(t *testing.T) {
	cat := load(t)
	env := cat.Tables().Env()
	for _, n := range env.Names {
		kind, _, _ := strings.Cut(strings.Replace(n.Values, "!", "", 1), ":")
		if !strings.Contains(" any nospace num int float fraction bool boolword torchbool port threads enum enumi alloc cuda-devices workspace arch subsys algo proto nvcaps nvidia-devices xlaflags ", " "+kind+" ") {
			t.Errorf("%s: no form %q", n.Name, kind)
		}
		if _, ok := env.Prefix(n.Name); !ok && !slices.Contains([]string{"MASTER_PORT", "MASTER_ADDR", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LD_LIBRARY_PATH", "TOKENIZERS_PARALLELISM", "HUGGING_FACE_HUB_TOKEN", "SGL_ENABLE_JIT_DEEPGEMM"}, n.Name) {
			t.Errorf("%s begins as nobody's variables", n.Name)
		}
	}
	j := newJudge(cat, "en")
	for name, rules := range env.Rules {
		if !j.known(name) {
			t.Errorf("%s has rules and is in no table", name)
		}
		for _, r := range rules {
			if r.Fault != "" && cat.Faults[r.Fault] == nil {
				t.Errorf("%s: no fault %s", name, r.Fault)
			}
			if r.Instead != "" && !j.known(r.Instead) {
				t.Errorf("%s: %s is in no table", name, r.Instead)
			}
		}
	}
}

func FuzzLint(f *testing.F) {
	files, _ := filepath.Glob("testdata/in/*")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Base(name), b)
	}
	f.Add("x.sh", []byte("a=$( \"${x:-\\"))
	f.Add("x.yaml", []byte("a: &a [*a]"))
	cat := load(f)
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		lines := bytes.Count(data, []byte("\n")) + 1
		r := Lint(cat, "en", []Source{{Name: name, Data: data}})
		for i := range r.Findings {
			if l := r.Findings[i].Line; l < 0 || l > lines+1 {
				t.Errorf("line %d of %d", l, lines)
			}
		}
		for _, form := range Formats {
			if err := r.Write(&bytes.Buffer{}, form, Options{Lang: "zh"}); err != nil {
				t.Error(err)
			}
		}
	})
}

// A shell lexer must end at the end, whatever is open there.
// TestYAMLThatHoldsItself: an anchor may stand inside of what it names.
func TestYAMLThatHoldsItself(t *testing.T) {
	for _, body := range []string{
		"env: &a\n  NCCL_DEBUG: INFO\n  env: *a\n",
		"command: &a\n  env: &b\n    NCCL_DEBUG: INFO\n    script: *a\n    env: *b\n",
		"x: &a\n  env: {NCCL_DEBUG: INFO, y: *a}\n",
	} {
		r := newReader(kindYAML)
		r.read(kindYAML, body, 1)
		if len(r.settings) == 0 || r.settings[0].Name != "NCCL_DEBUG" {
			t.Errorf("%q: %d settings", body, len(r.settings))
		}
	}
}

func TestTooManySettingsAreSaid(t *testing.T) {
	r := Lint(load(t), "en", []Source{{Name: "a.env", Data: []byte(strings.Repeat("A=1\n", maxSettings+1))}})
	if p := r.Inputs[0].Problems; len(p) != 1 || !strings.Contains(p[0], "only the first 5000") || r.ExitStatus() == gpumedic.ExitHealthy {
		t.Errorf("problems %q, status %d", p, r.ExitStatus())
	}
}

func FuzzKinds(f *testing.F) {
	f.Add("export A=1")
	f.Add("ENV A=b \\\n c='d")
	f.Add("os.environ['A']='''x")
	f.Add("<<E\nX")
	f.Add("env: &a\n  env: *a\n")
	f.Fuzz(func(_ *testing.T, body string) {
		for _, k := range []string{kindSbatch, kindShell, kindDockerfile, kindYAML, kindJSON, kindPython, kindNotebook, kindUnit, kindDotenv, kindEnviron} {
			newReader(k).read(k, body, 1)
		}
		for _, form := range []string{"alloc", "cuda-devices", "arch", "nvcaps", "nvidia-devices", "xlaflags", "algo", "subsys", "workspace"} {
			checkValue(form, body)
		}
	})
}
