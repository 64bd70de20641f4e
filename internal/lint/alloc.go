package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// allocKeys are the options of PyTorch's caching allocator and the form of each:
// c10/core/AllocatorConfig.cpp and c10/cuda/CUDAAllocatorConfig.cpp of PyTorch.
var allocKeys = map[string]string{
	"expandable_segments": "flag", "max_split_size_mb": "mb", "max_non_split_rounding_mb": "mb", "garbage_collection_threshold": "open01",
	"roundup_power2_divisions": "pow2", "roundup_bypass_threshold_mb": "mb", "backend": "backend", "release_lock_on_cudamalloc": "flag",
	"release_lock_on_hipmalloc": "flag", "pinned_use_cuda_host_register": "flag", "pinned_use_hip_host_register": "flag",
	"pinned_num_register_threads": "pow2", "pinned_use_background_threads": "flag", "pinned_reserve_segment_size_mb": "positive",
	"graph_capture_record_stream_reuse": "flag", "large_segment_size_mb": "positive", "per_process_memory_fraction": "fraction",
}

// checkAlloc reads PYTORCH_ALLOC_CONF as PyTorch does: key:value,key:value, blanks
// dropped. Whatever it cannot read ends the program when the allocator starts.
func checkAlloc(v string) *fault {
	v = strings.ReplaceAll(v, " ", "")
	if v == "" {
		return nil
	}
	async, native := false, ""
	for _, item := range splitBrackets(v) {
		key, value, ok := strings.Cut(item, ":")
		switch {
		case !ok && strings.Contains(item, "="):
			return allocFault("%s: a colon belongs between key and value", "%s：键和值之间应为冒号", item, strings.Replace(v, item, strings.Replace(item, "=", ":", 1), 1))
		case !ok || value == "":
			return allocFault("%s has no value", "%s 缺少值", item, "")
		}
		form, known := allocKeys[key]
		if !known {
			return unknownAlloc(v, key)
		}
		if f := allocValue(form, v, key, value); f != nil {
			return f
		}
		if key == "backend" {
			async = value == "cudaMallocAsync"
		} else if native == "" {
			native = key
		}
	}
	if async && native != "" {
		return wrong("backend:cudaMallocAsync ignores %s", "backend:cudaMallocAsync 会忽略 %s", native)
	}
	return nil
}

func allocFault(en, zh, what, right string) *fault {
	return &fault{say: say{"PyTorch ends at its first use of the GPU: " + fmt.Sprintf(en, what), "PyTorch 首次使用 GPU 时报错退出：" + fmt.Sprintf(zh, what)}, fatal: true, right: right}
}

func unknownAlloc(v, key string) *fault {
	keys := make([]string, 0, len(allocKeys))
	for k := range allocKeys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	near := nearest(key, keys, 4)
	if near == "" && allocKeys[key+"_mb"] != "" {
		near = key + "_mb"
	}
	if near != "" {
		return allocFault("there is no option %s", "没有选项 %s", key, strings.Replace(v, key, near, 1))
	}
	return wrong("no release known here has the option %s; one that does not know it ends the program", "已知版本都没有选项 %s；不认识它的版本会报错退出", key)
}

func allocValue(form, v, key, value string) *fault {
	replace := func(right string) string { return strings.Replace(v, key+":"+value, key+":"+right, 1) }
	x, err := strconv.ParseFloat(value, 64)
	switch form {
	case "flag":
		if value != "True" && value != "False" {
			right := ""
			switch strings.ToLower(value) {
			case "true", "1", "yes", "on":
				right = replace("True")
			case "false", "0", "no", "off":
				right = replace("False")
			}
			return allocFault("%s wants True or False, spelled so", "%s 只接受 True 或 False（区分大小写）", key, right)
		}
	case "mb":
		switch {
		case digits(value) == "":
			return allocFault("%s wants a number of MiB", "%s 应为 MiB 数", key, "")
		case err != nil:
			f := wrong("%s is in MiB: only the digits of %s are read", "%s 以 MiB 计：只读取 %s 中的数字", key, value)
			f.right = replace(digits(value))
			return f
		case x < 20:
			return allocFault("%s must be larger than 20", "%s 必须大于 20", key, replace("128"))
		case x == 20:
			return wrong("%s: older releases want more than 20, and end the program", "%s：旧版本要求大于 20，否则报错退出", key)
		}
	case "open01":
		if err != nil || x <= 0 || x >= 1 {
			return allocFault("%s wants a share above 0 and below 1", "%s 应为大于 0、小于 1 的比例", key, replace("0.8"))
		}
	case "fraction":
		if err != nil || x <= 0 || x > 1 {
			return allocFault("%s wants a share above 0, 1 at most", "%s 应为大于 0、不超过 1 的比例", key, "")
		}
	case "positive":
		if err != nil || x <= 0 {
			return allocFault("%s wants a number above 0", "%s 应为大于 0 的数", key, "")
		}
	case "backend":
		if value != "native" && value != "cudaMallocAsync" && value != "hipMallocAsync" {
			right := ""
			if near := nearest(strings.ToLower(value), []string{"native", "cudamallocasync"}, 4); near == "cudamallocasync" {
				right = replace("cudaMallocAsync")
			}
			return allocFault("%s wants native or cudaMallocAsync", "%s 只接受 native 或 cudaMallocAsync", key, right)
		}
	case "pow2":
		if n, err := strconv.Atoi(value); !strings.HasPrefix(value, "[") && (err != nil || n < 1 || n&(n-1) != 0) {
			return allocFault("%s wants a power of two", "%s 必须是 2 的幂", key, "")
		}
	}
	return nil
}

func digits(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n]
}

// splitBrackets splits at commas that are not in [ ].
func splitBrackets(s string) []string {
	var out []string
	start, depth := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				if i > start {
					out = append(out, s[start:i])
				}
				start = i + 1
			}
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}
