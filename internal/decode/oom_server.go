package decode

import (
	"math"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// serverMemory reads what inference servers say about their share of a card. The
// matcher names the form of the text; figures stand in *_bytes by now.
func (f *fields) serverMemory(form string) {
	switch form {
	case "startup":
		f.startup()
	case "kv":
		f.kvCache()
	case "profile":
		f.profile()
	case "host":
		f.hostShare()
	case "smem":
		f.sharedMemory()
	case "params":
		f.modelSize()
	case "tensor":
		f.tensor()
	case "pool":
		f.pool()
	case "pool_stats":
		f.poolStats()
	}
}

func (f *fields) number(name string) amount {
	n, err := strconv.ParseInt(f.get(name), 10, 64)
	return amount{n, err == nil}
}

// startup: a server asks at start for a share of the whole card and finds less free.
func (f *fields) startup() {
	free, total, want := f.number("free_bytes"), f.number("total_bytes"), f.number("want_bytes")
	if free.ok && total.ok && total.n >= free.n {
		f.putSize("other", total.n-free.n)
		f.set("other_percent", tenth(100*share(total.n-free.n, total)))
		f.fitsUtilization(free.n, total.n)
	}
	if free.ok && want.ok && want.n > free.n {
		f.putSize("missing", want.n-free.n)
	}
}

// kvCache: the cache holds fewer tokens than one request of full length needs.
func (f *fields) kvCache() {
	need, have := f.number("need_bytes"), f.number("have_bytes")
	length, fits := f.number("max_len"), f.number("fits")
	if fits.ok && fits.n <= 0 {
		fits = amount{}
	}
	if !fits.ok && need.ok && have.ok && length.ok && need.n > 0 && have.n > 0 && length.n < 1<<32 {
		fits = some(int64(float64(length.n) * share(have.n, need)))
	}
	if fits.ok {
		n := fits.n
		if n >= 64 {
			n -= n % 16 // the cache is kept in blocks of 16 tokens
		}
		f.set("fits_tokens", strconv.FormatInt(n, 10))
		if length.ok && length.n > 0 {
			f.set("fit_percent", strconv.Itoa(int(math.Floor(min(100, 100*float64(n)/float64(length.n))))))
		}
	}
	f.set("wanted_tokens", f.get("max_len"))
	if need.ok && have.ok && need.n > have.n {
		f.putSize("missing", need.n-have.n)
	}
}

// profile: vLLM's figures before it sizes the cache. What the card held before the
// model was loaded belongs to somebody else.
func (f *fields) profile() {
	total, before := f.number("total_bytes"), f.number("before_bytes")
	kv := f.number("kv_bytes")
	if kv.ok {
		f.set("kv_room", gpumedic.YesNo(kv.n > 0))
		if kv.n < 0 {
			f.putSize("missing", -kv.n)
		}
	}
	if before.ok && total.ok {
		f.putSize("other", before.n)
		f.set("other_percent", tenth(100*share(before.n, total)))
		f.set("occupied", gpumedic.YesNo(before.n >= max(3<<29, total.n/20)))
		f.fitsBeside(total, before)
	}
}

// fitsBeside: what is free beside the others must hold this server's own peak.
func (f *fields) fitsBeside(total, before amount) {
	free, peak := total.n-before.n, f.number("peak_bytes")
	f.putSize("free", atLeastZero(free))
	if need := peak.n + total.n/20; peak.ok && need > free {
		f.putSize("give_up", need-free)
		return
	}
	f.fitsUtilization(free, total.n)
}

// fitsUtilization proposes a share of the card: half a GiB of what is free is left for
// the context, and what is free may have shrunk meanwhile.
func (f *fields) fitsUtilization(free, total int64) {
	if util := math.Floor(100*float64(free-1<<29)/float64(max(total, 1))) / 100; util >= 0.05 {
		f.set("fits_utilization", strconv.FormatFloat(util, 'f', 2, 64))
	}
}

// hostShare: Ray's monitor counts the memory of the host.
func (f *fields) hostShare() {
	used, total, worker := f.number("used_bytes"), f.number("total_bytes"), f.number("worker_bytes")
	if used.ok && total.ok && total.n > 0 {
		f.set("used_percent", tenth(100*share(used.n, total)))
		if t, err := strconv.ParseFloat(strings.TrimRight(f.get("threshold"), "."), 64); err == nil && t > 0 && t <= 1 {
			f.set("threshold", strconv.FormatFloat(t, 'f', -1, 64))
			if over := used.n - int64(t*float64(total.n)); over > 0 {
				f.putSize("over", over)
			}
		}
	}
	if worker.ok && total.ok && total.n > 0 {
		f.set("worker_percent", tenth(100*share(worker.n, total)))
	}
}

// sharedMemory: a kernel wants more on-chip memory than a block may have.
func (f *fields) sharedMemory() {
	need, limit := f.number("required_bytes"), f.number("limit_bytes")
	if !need.ok || !limit.ok || limit.n <= 0 || need.n <= limit.n {
		return
	}
	f.set("times", strconv.FormatFloat(math.Round(10*float64(need.n)/float64(limit.n))/10, 'f', -1, 64))
	f.putSize("missing", need.n-limit.n)
	// Tiles and stages multiply: so many halvings of one of them make it fit.
	f.set("halvings", strconv.Itoa(int(math.Ceil(math.Log2(float64(need.n)/float64(limit.n))))))
	if s, ok := atoi(f.get("stages")); ok && s > 1 {
		f.set("fits_stages", strconv.Itoa(max(1, int(float64(s)*float64(limit.n)/float64(need.n)))))
	}
}

// modelSize: mixed precision with Adam keeps 16 bytes a parameter (weights and
// gradients in 16 bits, a master copy and two moments in 32). Shards share them.
func (f *fields) modelSize() {
	text := strings.TrimSpace(f.get("params"))
	mult := 1.0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMBT", text[n-1]&^0x20); i >= 0 {
			mult, text = math.Pow(1000, float64(i+1)), strings.TrimSpace(text[:n-1])
		}
	}
	v, err := strconv.ParseFloat(strings.TrimRight(strings.ReplaceAll(text, ",", ""), "."), 64)
	if err != nil || v*mult < 1 || v*mult > 1e14 {
		return
	}
	n := int64(math.Round(v * mult))
	f.set("params_count", strconv.FormatInt(n, 10))
	f.putSize("adam", 16*n)
	f.putSize("adam_shard8", 4*n+12*n/8) // weights and gradients whole, the rest over 8 ranks
}
