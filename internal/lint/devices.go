package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	uuidForm  = lazyre.New(`^(GPU|MIG)-[0-9a-fA-F-]*(/\d+/\d+)?$`)
	deviceTag = lazyre.New(`^(?i:cuda:|gpu:?|device=|/dev/nvidia)(\d+)$`)
	rangeForm = lazyre.New(`^(\d+)-(\d+)$`)
)

// checkDevices reads CUDA_VISIBLE_DEVICES: indexes or UUIDs with commas between. CUDA
// stops at the first entry that it cannot read, so a wrong first entry hides all.
func checkDevices(v string) *fault {
	v = strings.TrimSpace(v)
	if v == "" || v == "-1" || v == "NoDevFiles" || strings.EqualFold(v, "none") {
		return nil // the rules of the catalog speak of these
	}
	seen := map[string]bool{}
	for i, e := range strings.Split(v, ",") {
		e = strings.TrimSpace(e)
		n, err := strconv.Atoi(e)
		switch {
		case err == nil && n >= 0 || uuidForm.MatchString(e):
			if seen[e] {
				return &fault{say: say{fmt.Sprintf("GPU %s is there twice: CUDA refuses the list with error 101", e), fmt.Sprintf("GPU %s 重复：CUDA 以错误 101 拒绝该列表", e)},
					fatal: true, id: "invalid-device-ordinal"}
			}
			seen[e] = true
		case err == nil:
			return wrong("the list ends at %s: what stands behind it is hidden", "列表在 %s 处截断：其后的 GPU 都不可见", e)
		default:
			return badDevice(v, e, i)
		}
	}
	return nil
}

func badDevice(v, e string, i int) *fault {
	var f *fault
	if i == 0 {
		f = &fault{say: say{fmt.Sprintf("%q is neither an index nor a UUID: no GPU is visible, CUDA error 100", e), fmt.Sprintf("%q 既不是序号也不是 UUID：看不到任何 GPU，CUDA 错误 100", e)},
			fatal: true, id: "gpu-not-visible"}
	} else {
		f = wrong("the list ends at %q, which is neither an index nor a UUID: what stands from there on is hidden", "列表在 %q 处截断（既不是序号也不是 UUID）：从此处起的 GPU 都不可见", e)
		f.id = "invalid-device-ordinal"
	}
	if n := digits(e); n != "" { // as measured with driver 580: "0;1" shows GPU 0
		f = wrong("of %q only the number %s is read, the rest is not", "%q 中只读取数字 %s，其余被忽略", e, n)
	}
	switch {
	case deviceTag.MatchString(e):
		f.right = strings.Replace(v, e, deviceTag.FindStringSubmatch(e)[1], 1)
	case rangeForm.MatchString(e):
		m := rangeForm.FindStringSubmatch(e)
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[2])
		if b >= a && b-a < 32 {
			var list []string
			for ; a <= b; a++ {
				list = append(list, strconv.Itoa(a))
			}
			f.say = say{"a range is no list: CUDA reads the first number only", "不支持区间写法：CUDA 只读取第一个数字"}
			f.right = strings.Replace(v, e, strings.Join(list, ","), 1)
		}
	case strings.ContainsAny(e, " ;:"):
		f.right = strings.Join(strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(" ;:,", r) }), ",")
		if checkDevices(f.right) != nil {
			f.right = ""
		}
	}
	if strings.EqualFold(e, "all") {
		f.say = say{`"all" is a word of NVIDIA_VISIBLE_DEVICES, not of CUDA: no GPU is visible, CUDA error 100`, `"all" 是 NVIDIA_VISIBLE_DEVICES 的写法，CUDA 不认：看不到任何 GPU，CUDA 错误 100`}
	}
	return f
}

var containerDevice = lazyre.New(`^(all|none|void|\d+(:\d+)?|(GPU|MIG)-[0-9a-fA-F-]+(/\d+/\d+)?|[a-z0-9.-]+\.[a-z]+/[\w-]+=\S+|/\S*)$`)

func checkContainerDevices(v string) *fault {
	for e := range strings.SplitSeq(v, ",") {
		if e = strings.TrimSpace(e); e == "" || containerDevice.MatchString(e) {
			continue
		}
		f := wrong("%q is neither an index, a UUID nor all: the container does not start", "%q 不是序号、UUID 或 all：容器无法启动", e)
		f.fatal, f.id = true, "container-driver-capabilities-missing"
		if strings.EqualFold(e, "all") {
			f.right = "all"
		}
		return f
	}
	return nil
}
