package lint

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// say is a text in two languages.
type say struct{ en, zh string }

// fault is what is wrong with a value. fatal: the program ends, or finds no GPU.
type fault struct {
	say
	fatal bool
	nan   bool   // not of the kind at all, rather than out of range
	id    string // fault of the catalog
	right string // the value that was probably meant
}

func wrong(en, zh string, args ...any) *fault {
	return &fault{say: say{fmt.Sprintf(en, args...), fmt.Sprintf(zh, args...)}}
}

// checkValue holds a value against the form of its setting; nil is a good value.
func checkValue(form, v string) *fault {
	kind, arg, _ := strings.Cut(form, ":")
	kind, fatal := strings.CutSuffix(kind, "!")
	f := checkKind(kind, arg, v)
	if f != nil && fatal {
		f.fatal = kind != "int" || f.nan
	}
	return f
}

func checkKind(kind, arg, v string) *fault {
	switch kind {
	case "any":
	case "nospace":
		if strings.ContainsAny(strings.TrimSpace(v), " \t") {
			return wrong("it is one list without blanks", "应为不含空格的列表")
		}
	case "num":
		if v != "" && !isNumber(v) {
			return notNumber(v)
		}
	case "int", "float":
		return checkRange(kind, arg, v)
	case "fraction":
		if x, err := strconv.ParseFloat(v, 64); err != nil || x <= 0 || x > 1 {
			return wrong("it wants a share between 0 and 1, such as 0.8", "应为 0 到 1 之间的比例，如 0.8")
		}
	case "torchbool":
		return checkTorchBool(v)
	case "bool", "boolword":
		return checkBool(v)
	case "port":
		if n, err := strconv.Atoi(v); err != nil || n < 1 || n > 65535 {
			return checkPort(v)
		}
	case "threads":
		for x := range strings.SplitSeq(v, ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(x)); err != nil || n < 1 {
				return wrong("it wants a number of threads", "应为线程数")
			}
		}
	case "enum", "enumi":
		return checkEnum(arg, v, kind == "enumi")
	case "alloc":
		return checkAlloc(v)
	case "cuda-devices":
		return checkDevices(v)
	default:
		return checkOther(kind, v)
	}
	return nil
}

func checkPort(v string) *fault {
	if strings.HasPrefix(v, "tcp://") {
		return wrong("that is the address of a Kubernetes service of this name, not a port: rename the service, or set enableServiceLinks: false",
			"这是同名 Kubernetes Service 的地址，不是端口：改 Service 名，或设 enableServiceLinks: false")
	}
	return wrong("it wants a port, 1 to 65535", "应为端口号，1 到 65535")
}

var numberForm = lazyre.New(`^[+-]?(0[xX][0-9a-fA-F]+|[0-9]+(\.[0-9]+)?)$`)

func isNumber(v string) bool { return numberForm.MatchString(strings.TrimSpace(v)) }

func checkRange(kind, arg, v string) *fault {
	lo, hi, _ := strings.Cut(arg, "..")
	low, _ := strconv.ParseFloat(lo, 64)
	high, _ := strconv.ParseFloat(hi, 64)
	if v == "" {
		return nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	switch {
	case err != nil || kind == "int" && x != math.Trunc(x):
		f := notNumber(v)
		if kind == "float" {
			f = wrong("it wants a number from %s to %s", "应为 %s 到 %s 的数", lo, hi)
		}
		if lo == "0" && (hi == "1" || hi == "2") {
			f.right = map[string]string{"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}[strings.ToLower(v)]
		}
		return f
	case x < low || x > high:
		return wrong("%s is outside of %s to %s", "%s 超出 %s 到 %s 的范围", v, lo, hi)
	}
	return nil
}

// notNumber: C's strtoll and stoi stop at the first letter.
func notNumber(v string) *fault {
	if d := digits(strings.TrimSpace(v)); d != "" {
		return wrong("only the digits at its beginning are read: %s", "只读取开头的数字：%s", d)
	}
	f := wrong("%q is no number: it is taken for 0 or left out", "%q 不是数字：会被当作 0 或忽略", v)
	f.nan = true
	return f
}

// checkTorchBool: PyTorch's reader of switches knows these words and throws at others.
func checkTorchBool(v string) *fault {
	switch strings.ToLower(v) {
	case "0", "1", "true", "false", "yes", "no", "y", "n", "t", "f":
		return nil
	}
	f := wrong("it wants 1 or 0: init_process_group raises RuntimeError at %q", "应为 1 或 0：遇到 %q 时 init_process_group 会抛 RuntimeError", v)
	f.right = map[string]string{"on": "1", "off": "0"}[strings.ToLower(v)]
	return f
}

func checkBool(v string) *fault {
	switch strings.ToLower(v) {
	case "", "0", "1", "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f":
		return nil
	}
	return wrong("it wants 1 or 0, true or false", "应为 1 或 0、true 或 false")
}

func checkEnum(arg, v string, anyCase bool) *fault {
	words := strings.Split(arg, "|")
	for _, w := range words {
		if v == w || anyCase && strings.EqualFold(v, w) || v == "" {
			return nil
		}
	}
	shown := strings.Join(shortList(words), ", ")
	f := wrong("%q is not among %s", "%q 不在 %s 之列", v, shown)
	for _, w := range words {
		if strings.EqualFold(v, w) {
			f.right = w
		}
	}
	if f.right == "" {
		if yes := map[string]string{"1": "true", "0": "false", "yes": "true", "no": "false", "on": "true", "off": "false"}[strings.ToLower(v)]; yes != "" && contains(words, yes) {
			f.right = yes
		} else {
			f.right = nearest(v, words, 2)
		}
	}
	return f
}

// shortList leaves the numbers of a list of words out: they are its old form.
func shortList(words []string) []string {
	var out []string
	for _, w := range words {
		if w != "" && (len(w) > 1 || w > "9") {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return words
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

var (
	workspaceForm = lazyre.New(`^(:\d+:\d+)+$`)
	archForm      = lazyre.New(`^\d+\.\d[af]?(\+PTX)?$`)
	archNames     = lazyre.New(`^(?i)(Kepler(\+Tesla|\+Tegra)?|Maxwell(\+Tegra)?|Pascal|Volta(\+Tegra)?|Turing|Ampere(\+Tegra)?|Ada|Hopper|Blackwell(\+Tegra)?|Common|All)(\+PTX)?$`)
	archNumber    = lazyre.New(`^(?:sm_|compute_)?(\d{1,2})(\d)([af]?)(\+PTX)?$`)
)

func checkOther(kind, v string) *fault {
	switch kind {
	case "workspace":
		if v != "" && !workspaceForm.MatchString(v) {
			return &fault{say: say{"it wants :SIZE:COUNT, SIZE in KiB", "应为 :SIZE:COUNT，SIZE 以 KiB 计"}, right: ":4096:8"}
		}
	case "arch":
		return checkArch(v)
	case "subsys":
		return checkWords(strings.TrimPrefix(v, "^"), "INIT COLL P2P SHM NET GRAPH TUNING ENV ALLOC ALLOC_HOST CALL PROXY NVLS BOOTSTRAP REG PROFILE RAS DESTROY ALL GIN RMA VERSION")
	case "algo":
		return checkWords(v, "TREE RING COLLNET COLLNETDIRECT COLLNETCHAIN NVLS NVLSTREE PAT")
	case "proto":
		return checkWords(v, "LL LL128 SIMPLE")
	case "nvcaps":
		return checkCaps(v)
	case "nvidia-devices":
		return checkContainerDevices(v)
	case "xlaflags":
		return checkXLA(v)
	}
	return nil
}

// checkWords holds a list against the words that there are; "func:word,word;func:…"
// and "^word" are forms of newer releases.
func checkWords(v, known string) *fault {
	words := strings.Fields(known)
	for _, w := range strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ';' || r == ':' }) {
		w = strings.ToUpper(strings.TrimSpace(strings.TrimPrefix(w, "^")))
		if w == "" || contains(words, w) || contains(strings.Fields("ALLREDUCE ALLGATHER REDUCESCATTER BROADCAST REDUCE ALLTOALL SENDRECV"), w) {
			continue
		}
		f := wrong("%q is none of its words: it is left out", "%q 不在可选词中：会被忽略", w)
		if near := nearest(w, words, 2); near != "" {
			f.right = strings.Replace(strings.ToUpper(v), w, near, 1)
		}
		return f
	}
	return nil
}

func checkArch(v string) *fault {
	for _, a := range strings.FieldsFunc(v, func(r rune) bool { return r == ';' || r == ' ' || r == ',' }) {
		if archForm.MatchString(a) || archNames.MatchString(a) || strings.EqualFold(a, "native") {
			continue
		}
		f := wrong("%q is no architecture that PyTorch's builder knows: the build ends", "PyTorch 构建工具不认识架构 %q：构建会中止", a)
		f.fatal, f.id = true, "arch-mismatch"
		if m := archNumber.FindStringSubmatch(a); m != nil {
			f.right = strings.Replace(v, a, m[1]+"."+m[2]+m[3]+m[4], 1)
		}
		return f
	}
	if strings.Contains(v, ",") {
		return &fault{say: say{"the separator is a semicolon or a blank: a comma makes one unknown architecture of the list", "分隔符应为分号或空格：逗号会把整个列表当成一个未知架构"},
			fatal: true, right: strings.ReplaceAll(v, ",", ";"), id: "arch-mismatch"}
	}
	return nil
}

func checkCaps(v string) *fault {
	known := []string{"all", "none", "compute", "utility", "video", "graphics", "display", "compat32", "ngx"}
	compute := v == ""
	for w := range strings.SplitSeq(v, ",") {
		w = strings.TrimSpace(w)
		if w != "" && !contains(known, w) {
			f := wrong("%q is no capability of the driver: the container does not start", "%q 不是驱动能力名：容器无法启动", w)
			f.fatal, f.id = true, "container-driver-capabilities-missing"
			if near := nearest(w, known, 2); near != "" {
				f.right = strings.Replace(v, w, near, 1)
			}
			return f
		}
		compute = compute || w == "compute" || w == "all"
	}
	if !compute {
		return &fault{say: say{"without compute the container has no libcuda: CUDA finds no driver", "缺 compute 时容器里没有 libcuda：CUDA 找不到驱动"},
			id: "container-driver-capabilities-missing", right: strings.Trim("compute,"+v, ",")}
	}
	return nil
}

func checkXLA(v string) *fault {
	for _, w := range strings.Fields(v) {
		if !strings.HasPrefix(w, "--") && strings.HasPrefix(strings.TrimPrefix(w, "-"), "xla_") {
			return &fault{say: say{fmt.Sprintf("%q lacks the two dashes of an XLA flag: XLA ends the program", w), fmt.Sprintf("%q 缺少 XLA 选项的两个短横：XLA 会结束程序", w)},
				fatal: true, right: strings.Replace(v, w, "--"+strings.TrimPrefix(w, "-"), 1)}
		}
	}
	return nil
}
