package decode

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"pgregory.net/rapid"
)

// oomOf decodes one message of PyTorch; rank is negative when it is not known.
func oomOf(text string, rank int) gpumedic.Signal {
	sig := gpumedic.Signal{Fields: map[string]string{"text": text}}
	if rank >= 0 {
		sig.Subject.Rank = &rank
	}
	New(&catalog.TableSet{}).Decode("oom", &sig)
	return sig
}

// Every generation of the message, and what its figures say.
func TestOOMGenerations(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		sig := oomOf(text, -1)
		for _, kv := range strings.Fields(want) {
			k, v, _ := strings.Cut(kv, "=")
			if got := strings.ReplaceAll(sig.Fields[k], " ", ""); got != v {
				t.Errorf("%.110s…\n%s = %q, want %q", text, k, got, v)
			}
		}
	}
	const hint = " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management"
	// 0.4 to 1.3: "cached".
	f("CUDA out of memory. Tried to allocate 50.00 MiB (GPU 0; 6.00 GiB total capacity; 693.78 MiB already allocated; 3.91 GiB free; 18.22 MiB cached)",
		"requested_text=50MiB total_text=6GiB allocated_text=694MiB free_text=3.91GiB reserved_text=18.2MiB device_index=0 oom_kind=unknown oom_why=free_above_request expandable_env=")
	// 1.4 to 2.0.
	f("CUDA out of memory. Tried to allocate 216.00 MiB (GPU 0; 7.92 GiB total capacity; 69.17 MiB already allocated; 24.56 MiB free; 86.00 MiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
		"oom_kind=other_process other_text=7.81GiB other_estimated=yes missing_text=191MiB unallocated_text=16.8MiB split_env=PYTORCH_CUDA_ALLOC_CONF")
	f("CUDA out of memory. Tried to allocate 256.00 MiB (GPU 0; 23.70 GiB total capacity; 21.96 GiB already allocated; 178.81 MiB free; 22.30 GiB reserved in total by PyTorch)",
		"oom_kind=capacity missing_text=77.2MiB cut_percent=1 fit_percent=")
	f("CUDA out of memory. Tried to allocate 1.95 GiB (GPU 2; 31.74 GiB total capacity; 14.02 GiB already allocated; 1.04 GiB free; 29.90 GiB reserved in total by PyTorch)",
		"oom_kind=fragmentation oom_grade=strong unallocated_text=15.9GiB device_index=2")
	f("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.35 GiB total capacity; 30.00 GiB already allocated; 40.00 GiB free; 31.00 GiB allowed; 30.50 GiB reserved in total by PyTorch)",
		"oom_kind=capacity oom_why=process_limit allowed_text=31GiB missing_text=1.5GiB")
	// 2.1, with its spelling and its underflow.
	f("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacty of 4.00 GiB of which 2.80 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.",
		"oom_kind=unknown oom_why=free_above_request allocated_bytes=0 unallocated_bytes=0 expandable_env=PYTORCH_CUDA_ALLOC_CONF")
	f("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacty of 8.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory 7.25 GiB is allocated by PyTorch, and 225.13 MiB is reserved by PyTorch but unallocated.",
		"oom_kind=capacity underflow=yes own_bytes= missing_text=20MiB")
	// 2.2 and later.
	f("CUDA out of memory. Tried to allocate 4.34 GiB. GPU 5 has a total capacity of 79.11 GiB of which 2.59 GiB is free. Including non-PyTorch memory, this process has 76.51 GiB memory in use. Of the allocated memory 70.08 GiB is allocated by PyTorch, and 1.12 GiB is reserved by PyTorch but unallocated."+hint,
		"oom_kind=capacity missing_text=1.75GiB own_text=76.5GiB nonframework_text=5.31GiB other_bytes=0 free_after_cache_text=3.71GiB device_index=5")
	f("CUDA out of memory. Tried to allocate 19.14 GiB. GPU 6 has a total capacity of 79.33 GiB of which 8.35 GiB is free. Process 99 has 1.49 GiB memory in use. Including non-PyTorch memory, this process has 69.48 GiB memory in use. Of the allocated memory 68.65 GiB is allocated by PyTorch, and 850.00 MiB is reserved by PyTorch but unallocated."+hint,
		"oom_kind=capacity missing_text=10.8GiB fit_percent=43 other_pids=99 unallocated_percent=1")
	f("CUDA out of memory. Tried to allocate 546.00 MiB. GPU 0 has a total capacity of 15.77 GiB of which 514.19 MiB is free. Process 731045 has 15.25 GiB memory in use. Of the allocated memory 13.73 GiB is allocated by PyTorch, with 46.00 MiB allocated in private pools (e.g., CUDA Graphs), and 736.86 MiB is reserved by PyTorch but unallocated."+hint,
		"oom_kind=fragmentation oom_grade=weak listed_self=yes other_bytes=0 other_pids= private_text=46MiB own_text=15.2GiB")
	f("CUDA out of memory. Tried to allocate 74.16 GiB. GPU 0 has a total capacity of 44.40 GiB of which 29.89 GiB is free. Process 1902447 has 14.51 GiB memory in use. Of the allocated memory 13.44 GiB is allocated by PyTorch, and 738.96 MiB is reserved by PyTorch but unallocated."+hint,
		"oom_kind=single_too_large listed_self=yes fit_percent=40 fit_side_percent=63")
	f("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 11.29 GiB is free. Including non-PyTorch memory, this process has 128.51 GiB memory in use. Of the allocated memory 70.40 GiB is allocated by PyTorch, and 57.60 GiB is reserved by PyTorch but unallocated."+hint,
		"oom_kind=fragmentation oom_grade=strong")
	f("CUDA out of memory. Tried to allocate 42.00 MiB. GPU 0 has a total capacity of 47.27 GiB of which 9.38 MiB is free. Process 644963 has 5.59 MiB memory in use. Process 2925282 has 312.00 MiB memory in use. Process 3053273 has 29.04 GiB memory in use. Process 3120922 has 14.74 GiB memory in use. Including non-PyTorch memory, this process has 3.14 GiB memory in use. Of the allocated memory 2.92 GiB is allocated by PyTorch, and 34.62 MiB is reserved by PyTorch but unallocated.",
		"oom_kind=other_process other_text=44.1GiB other_pid_list=644963,2925282,3053273,3120922 process_count=4")
	f("CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free. Of the allocated memory 13.98 GiB is allocated by PyTorch, and 129.48 MiB is reserved by PyTorch but unallocated."+hint,
		"oom_kind=capacity oom_why=spilled_to_host spilled_text=6.11GiB")
	f("CUDA out of memory. Tried to allocate 224.00 MiB. GPU  has a total capacity of 44.34 GiB of which 160.81 MiB is free. Process 47694 has 44.17 GiB memory in use. Of the allocated memory 43.36 GiB is allocated by PyTorch, and 396.27 MiB is reserved by PyTorch but unallocated.",
		"oom_kind=capacity device_index= listed_self=yes")
	f("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated. … try setting PYTORCH_ALLOC_CONF=expandable_segments:True",
		"oom_kind=capacity nonframework_percent=82.7 expandable_env=PYTORCH_ALLOC_CONF")
	// Cut by a logger: the last number is enough, without it nothing is known.
	f("CUDA out of memory. Tried to allocate 546.00 MiB. GPU 0 has a total capacity of 15.77 GiB of which 514.19 MiB is free. Process 731045 has 15.25 GiB memory in use. Of the allocated memory 13.73 GiB is allocated by PyTorch, with 46.00 MiB allocated in private pools (e.g., CUDA Graphs), and 736.86 MiB is",
		"oom_kind=fragmentation oom_grade=weak unallocated_text=737MiB")
	f("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 500.",
		"oom_kind=unknown oom_why=figures_missing nonframework_percent=")
	// Cached above the request is no fragmentation on a full card.
	f("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 5.00 MiB is free. Including non-PyTorch memory, this process has 79.14 GiB memory in use. Of the allocated memory 77.00 GiB is allocated by PyTorch, and 400.00 MiB is reserved by PyTorch but unallocated."+hint,
		"oom_kind=capacity")
	// Cut, wrapped, other units.
	f("CUDA out of memory. Tried to allocate 2.0", "oom_kind=unknown oom_why=figures_missing requested_bytes=")
	f("CUDA out of memory. Tried to allocate 7.50 GiB. GPU 3 has a total capacity of 39.39 GiB of which 1.2", "requested_text=7.5GiB total_text=39.4GiB free_bytes= oom_kind=unknown")
	f("CUDA out of memory. Tried to allocate 20.00\nMiB. GPU 0 has a total capacity\n of 15.51 GiB of which\n149.62 MiB is free.", "requested_text=20MiB total_text=15.5GiB free_text=150MiB")
	f("CUDA out of memory. Tried to allocate 1.02 TiB. GPU 0 has a total capacity of 1,024.00 MiB of which 512 bytes is free.", "requested_text=1.02TiB total_text=1GiB free_bytes=512 oom_kind=single_too_large")
	// Other devices and allocators.
	f("MPS backend out of memory (MPS allocated: 7.64 GiB, other allocations: 68.91 GiB, max allowed: 88.13 GiB). Tried to allocate 33.92 GiB", "requested_text=33.9GiB allowed_text=88.1GiB other_text=68.9GiB allocated_text=7.64GiB oom_kind=capacity oom_why=process_limit")
	f("Allocation on device 0 would exceed allowed memory. (out of memory) Currently allocated     : 21.50 GiB Requested               : 1.50 GiB Device limit            : 23.69 GiB Free (according to CUDA): 12.00 MiB PyTorch limit (set by user-supplied memory fraction) : 17179869184.00 GiB",
		"requested_text=1.5GiB allocated_text=21.5GiB total_text=23.7GiB free_text=12MiB oom_kind=capacity underflow=yes allowed_bytes=")
	// A program that goes on.
	f("| WARNING: ran out of memory with exception: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 15.78 GiB total capacity; 14.00 GiB already allocated; 0.50 GiB free; 14.10 GiB reserved in total by PyTorch); Skipping batch", "caught=yes")
}

func TestOOMRankAndDevice(t *testing.T) {
	f := func(rank int, device, want string) {
		t.Helper()
		sig := oomOf("CUDA out of memory. Tried to allocate 1.00 GiB. GPU "+device+" has a total capacity of 79.00 GiB of which 0 bytes is free.", rank)
		if got := sig.Fields["rank_device"]; got != want {
			t.Errorf("rank %d on device %s: %q, want %q", rank, device, got, want)
		}
	}
	f(6, "0", "foreign")
	f(0, "0", "own")
	f(3, "3", "own")
	f(11, "3", "own")
	f(8, "0", "own")
	f(-1, "0", "")
}

func TestParseSize(t *testing.T) {
	f := func(s, unit string, want int64, ok bool) {
		t.Helper()
		if n, good := parseSize(s, unit); n != want || good != ok {
			t.Errorf("%q: %d %v, want %d %v", s, n, good, want, ok)
		}
	}
	f("19.14 GiB", "", 20551418511, true)
	f("232.83GiB", "", 249999308882, true)
	f("2.15G", "", 2308544922, true)
	f("7632.00 MiB", "", 8002732032, true)
	f("1,024.00 KiB", "", 1<<20, true)
	f("0 bytes", "", 0, true)
	f("12345678", "", 12345678, true)
	f("0.5", "GiB", 1<<29, true)
	f("-54.97GiB", "", -59023588065, true)
	f("8,000,000,000 bytes", "", 8000000000, true)
	f("17179869184.00 GiB", "", 0, false)
	f("GiB", "", 0, false)
	f("1e400 GiB", "", 0, false)
	f("12 apples", "", 0, false)
}

func TestServerMemory(t *testing.T) {
	f := func(fields map[string]string, want string) {
		t.Helper()
		sig := gpumedic.Signal{Fields: fields}
		New(&catalog.TableSet{}).Decode("oom", &sig)
		for _, kv := range strings.Fields(want) {
			k, v, _ := strings.Cut(kv, "=")
			if got := strings.ReplaceAll(sig.Fields[k], " ", ""); got != v {
				t.Errorf("%v: %s = %q, want %q", fields, k, got, v)
			}
		}
	}
	f(map[string]string{"form": "startup", "unit": "GiB", "free_size": "7.34", "total_size": "15.49", "want_size": "12.39"}, "other_text=8.15GiB missing_text=5.05GiB fits_utilization=0.44")
	f(map[string]string{"form": "kv", "unit": "GiB", "max_len": "131072", "need_size": "16.00", "have_size": "6.25"}, "fits_tokens=51200 fit_percent=39 missing_text=9.75GiB")
	f(map[string]string{"form": "kv", "unit": "GiB", "max_len": "4096", "need_size": "1.0", "have_size": "-2.5"}, "fits_tokens= missing_text=3.5GiB")
	f(map[string]string{"form": "profile", "total_size": "79.15GiB", "before_size": "68.01GiB", "peak_size": "12.05GiB", "kv_size": "-54.97GiB"}, "occupied=yes kv_room=no free_text=11.1GiB give_up_text=4.87GiB fits_utilization=")
	f(map[string]string{"form": "smem", "required_bytes": "1048576", "limit_bytes": "232448"}, "times=4.5 halvings=3")
	f(map[string]string{"form": "smem", "required_hex": "0x10080", "limit_hex": "0xc000"}, "required_bytes=65664 halvings=1")
	f(map[string]string{"form": "tensor", "shape": "32,1024,64,64", "dtype": "float"}, "requested_bytes=536870912")
	f(map[string]string{"form": "host", "used_size": "12.49GB", "total_size": "13.15GB", "worker_size": "11.15GB", "threshold": "0.9"}, "used_percent=95 worker_percent=84.8 over_text=671MiB")
	f(map[string]string{"form": "params", "params": "353.77M"}, "params_count=353770000 adam_text=5.27GiB")
	f(map[string]string{"form": "pool_stats", "limit_bytes": "10968950375", "in_use_bytes": "5000000000"}, "pool_used=loose in_use_percent=45.6")
}

// The arithmetic never gives a negative figure, never more than the card, and the parts
// that it names add up.
func TestOOMArithmetic(t *testing.T) {
	gib := func(t *rapid.T, name string, most float64) float64 { return rapid.Float64Range(0, most).Draw(t, name) }
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Float64Range(1, 288).Draw(t, "total")
		free, alloc, cached, other := gib(t, "free", total), gib(t, "alloc", total), gib(t, "cached", total), gib(t, "other", total)
		req := gib(t, "req", 2*total)
		text := fmt.Sprintf("CUDA out of memory. Tried to allocate %.2f GiB. GPU 0 has a total capacity of %.2f GiB of which %.2f GiB is free. ", req, total, free)
		if rapid.Bool().Draw(t, "listed") {
			text += fmt.Sprintf("Process 77 has %.2f GiB memory in use. ", other)
		}
		if rapid.Bool().Draw(t, "self") {
			text += fmt.Sprintf("Including non-PyTorch memory, this process has %.2f GiB memory in use. ", alloc+cached+0.5)
		}
		text += fmt.Sprintf("Of the allocated memory %.2f GiB is allocated by PyTorch, and %.2f GiB is reserved by PyTorch but unallocated.", alloc, cached)
		sig := oomOf(text, -1)
		n := func(k string) int64 {
			v, err := strconv.ParseInt(sig.Fields[k], 10, 64)
			if sig.Fields[k] != "" && err != nil {
				t.Fatalf("%s=%q: %v", k, sig.Fields[k], err)
			}
			return v
		}
		for k, v := range sig.Fields {
			if strings.HasSuffix(k, "_bytes") && n(k) < 0 {
				t.Fatalf("%s=%s", k, v)
			}
		}
		if n("other_bytes") > n("total_bytes") {
			t.Fatalf("others hold more than the card: %v", sig.Fields)
		}
		if m := n("missing_bytes"); m > 0 && m+n("free_bytes") != n("requested_bytes") {
			t.Fatalf("missing and free are not the request: %v", sig.Fields)
		}
		if n("allocated_bytes")+n("unallocated_bytes") != n("reserved_bytes") {
			t.Fatalf("parts and whole of the allocator differ: %v", sig.Fields)
		}
		switch kind := sig.Fields["oom_kind"]; kind {
		case oomFragmentation:
			if n("free_after_cache_bytes") < n("requested_bytes") {
				t.Fatalf("fragmentation without enough memory: %v", sig.Fields)
			}
		case oomOtherProcess:
			if float64(n("other_bytes")) < otherShare*float64(n("total_bytes")) {
				t.Fatalf("little is held by others: %v", sig.Fields)
			}
		case oomSingle:
			if n("requested_bytes") <= n("total_bytes") {
				t.Fatalf("the request fits the card: %v", sig.Fields)
			}
		case oomCapacity, oomUnknown, oomUnderflow:
		default:
			t.Fatalf("kind %q", kind)
		}
	})
}

func FuzzOOM(f *testing.F) {
	f.Add("CUDA out of memory. Tried to allocate 546.00 MiB. GPU 0 has a total capacity of 15.77 GiB of which 514.19 MiB is free. Process 731045 has 15.25 GiB memory in use.", "", "")
	f.Add("CUDA out of memory. Tried to allocate 1e308 GiB (GPU 99999999999; -1 GiB total capacity; 0 bytes free)", "kv", "9223372036854775807")
	f.Add("", "smem", "0xffffffffffff")
	f.Add("", "tensor", "999999999999,999999999999,9999999999")
	f.Fuzz(func(t *testing.T, text, form, size string) {
		fields := map[string]string{"text": text, "form": form, "shape": size, "dtype": "double", "max_len": size, "fits": size,
			"need_size": size, "have_size": "1", "total_size": size, "before_size": size, "required_hex": size, "limit_bytes": size, "params": size, "threshold": size, "used_size": size, "unit": "GiB"}
		if form == "" {
			delete(fields, "form")
		}
		sig := gpumedic.Signal{Fields: fields}
		New(&catalog.TableSet{}).Decode("oom", &sig)
		for k, v := range sig.Fields {
			if strings.HasSuffix(k, "_text") && (strings.Contains(v, "NaN") || strings.Contains(v, "Inf")) {
				t.Fatalf("%s=%s", k, v)
			}
		}
	})
}
