package series

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"pgregory.net/rapid"
)

// collect runs lines through a collector; a line may begin with "N> " for rank N.
func collect(text string) []gpumedic.Signal {
	var c Collector
	for i, line := range strings.Split(text, "\n") {
		rank := -1
		if head, rest, ok := strings.Cut(line, "> "); ok {
			if n, err := strconv.Atoi(head); err == nil {
				rank, line = n, rest
			}
		}
		c.Line(line, rank, i+1)
	}
	return c.Signals()
}

func find(sigs []gpumedic.Signal, kind string) *gpumedic.Signal {
	for i := range sigs {
		if sigs[i].Kind == kind {
			return &sigs[i]
		}
	}
	return nil
}

// lines repeats a form with the given values.
func lines(n int, form func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(form(i) + "\n")
	}
	return b.String()
}

func TestForms(t *testing.T) {
	f := func(line string, want string) {
		t.Helper()
		p, _ := parse(line, lower(line))
		r := run{}
		r.place(&p)
		got := ""
		put := func(name string, v value) {
			if v.ok {
				got += fmt.Sprintf("%s=%s ", name, figure(v.v))
			}
		}
		if p.hasStep {
			got += fmt.Sprintf("step=%g ", p.step)
		}
		put("loss", p.loss)
		put("val", p.valLoss)
		put("norm", p.norm)
		put("scale", p.scale)
		if p.memory.ok {
			got += "mem=" + sizeText(p.memory.v) + " "
		}
		if p.peak.ok {
			got += "peak=" + sizeText(p.peak.v) + " "
		}
		put("batch", p.batch)
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	f("Epoch 0:   11%|█         | 600/5200 [04:32<34:50,  2.20it/s, loss=0.5198, v_num=0] gpu_mem=9.53GB", "step=600 loss=0.5198 mem=9.53 GiB")
	f("{'loss': 2.1039, 'grad_norm': 1.25, 'learning_rate': 1e-05, 'epoch': 0.12}", "step=120 loss=2.1039 norm=1.25")
	f("{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 0.5}", "step=500 loss=0 norm=NaN")
	f("iter 4880: loss 3.4647, time 528.88ms, mfu 11.83%", "step=4880 loss=3.4647")
	f("step 6000: train loss nan, val loss nan", "step=6000 loss=NaN val=NaN")
	f(" iteration      100/    5000 | consumed samples:  3200 | elapsed time per iteration (ms): 512.3 | learning rate: 1.5E-04 | global batch size:    32 | lm loss: 2.103456E+00 | loss scale: 65536.0 | grad norm: 1.313 | number of skipped iterations:   0 |",
		"step=100 loss=2.10346 norm=1.313 scale=65536")
	f("[Rank 0] (after 10 iterations) memory (MB) | allocated: 5333.77 | max allocated: 7201.5 | reserved: 8000.0", "mem=5.21 GiB peak=7.03 GiB")
	f("MA 1.26 GB         Max_MA 1.26 GB         CA 1.27 GB         Max_CA 1 GB", "mem=1.26 GiB peak=1.26 GiB")
	f("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8192, reducing to 4096", "scale=4096")
	f("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0", "scale=32768")
	f("epoch 001:    100 / 5000 loss=10.2, nll_loss=9.1, ppl=500, wps=1000, num_updates=100, lr=1e-4, gnorm=2.1, loss_scale=128, train_wall=9", "step=100 loss=10.2 norm=2.1 scale=128")
	f("100/1563 [>.............................] - ETA: 8s - loss: 2.0512 - accuracy: 0.25", "step=100 loss=2.0512")
	f("2026-04-21 02:04:46 | INFO | root | step 0 | epoch 0 | loss 1.9003 | grad_norm 1.3700 | lr 1.00e-05 | mem 65.88 GiB | tps 15818.60", "step=0 loss=1.9003 norm=1.37 mem=65.9 GiB")
	f("step 1 batch 16 loss 21.5070 peak 46.70 GiB", "step=1 loss=21.507 peak=46.7 GiB batch=16")
	f("step 12 loss inf grad_norm nan scale 16.0", "step=12 loss=+Inf norm=NaN scale=16")
	f("step=200, train_loss=tensor(0.7313, device='cuda:0'), max_memory_allocated_gb=12.5", "step=200 loss=0.7313 peak=12.5 GiB")
	// Unseen variants.
	f("Step: 1,200 - training_loss: 1.05 - VRAM used: 21.3 GiB", "step=1200 loss=1.05 mem=21.3 GiB")
	f("INFO:root:global_step=77 loss=nan", "step=77 loss=NaN")
	f("[step 300] total_loss: 4.2e-01 | gradient norm: 0.9 | cuda mem: 10240 MB", "step=300 loss=0.42 norm=0.9 mem=10.0 GiB")
	// Names that say nothing.
	f("INFO train: nan_to_num applied, nan_count 0, inf_checks 3, overflow: False", "")
	f("loss_weight: 0.5, focal_loss_gamma=2, loss function: cross_entropy", "")
	f("host memory 120 GiB, cpu_mem=3.2GB, ram used 77 GB", "")
	f("INFO step 20 loss 2.4455 error 0.900 oom_retries 0 nan_count 0", "step=20 loss=2.4455")
}

func TestMemoryGrowth(t *testing.T) {
	leak := func(oom string) string {
		return lines(49, func(i int) string {
			return fmt.Sprintf("Epoch 0: 3%%| | %d/5200 [01:30<37:52, 2.20it/s, loss=0.5, v_num=0] gpu_mem=%.2fGB", 100*i, 7.6+0.322*float64(i))
		}) + oom
	}
	s := find(collect(leak("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB (GPU 0; 23.70 GiB total capacity; 21.96 GiB already allocated)")), "series.memory_growth")
	if s == nil {
		t.Fatal("no growth seen")
	}
	slope, _ := strconv.ParseFloat(s.Fields["slope_bytes_per_step"], 64)
	if want := 0.00322 * (1 << 30); math.Abs(slope-want) > 0.02*want {
		t.Errorf("slope %g, want %g", slope, want)
	}
	full, _ := strconv.ParseFloat(s.Fields["full_step"], 64)
	if full < 4900 || full > 5100 {
		t.Errorf("full at %g, want about 5000", full)
	}
	if s.Fields["oom"] != "yes" || s.Fields["first_text"] != "7.60 GiB" || s.Level != gpumedic.LevelAbnormal || s.Evidence.Line != 49 {
		t.Errorf("%+v", s)
	}
	if s := find(collect(leak("")), "series.memory_growth"); s == nil || s.Fields["oom"] != "no" || s.Level != gpumedic.LevelNotice {
		t.Errorf("without a refusal: %+v", s)
	}
}

// A short log tells a leak when every point lies on the line and the card ran full.
func TestGrowthOfFewPoints(t *testing.T) {
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB"
	steady := func(i int) string { return fmt.Sprintf("step %d loss 1.0 mem %.2f GiB", 50*i, 21+3.4*float64(i)) }
	warm := func(i int) string {
		return fmt.Sprintf("step %d loss 1.0 mem %.2f GiB", 50*i, 40-20*math.Exp(-float64(i)))
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"steady to the end":    {lines(6, steady) + oom, true},
		"steady, no refusal":   {lines(6, steady), false},
		"warm-up, then full":   {lines(6, warm) + oom, false},
		"three points":         {lines(3, steady) + oom, false},
		"refused at the start": {oom + "\n" + lines(6, steady), false},
	} {
		if got := find(collect(c.text), "series.memory_growth") != nil; got != c.want {
			t.Errorf("%s: seen %v", name, got)
		}
	}
}

func TestNoGrowth(t *testing.T) {
	noise := func(i int) float64 { return 5 * math.Sin(float64(i)*1.7) }
	for name, form := range map[string]func(i int) string{
		"flat and noisy": func(i int) string { return fmt.Sprintf("step %d loss 1.0 mem %.2f GiB", i, 62+noise(i)) },
		"warm-up only": func(i int) string {
			return fmt.Sprintf("step %d loss 1.0 mem %.2f GiB", i, 40-30*math.Exp(-float64(i)/4))
		},
		"maximum so far": func(i int) string {
			return fmt.Sprintf("step %d loss 1.0 max_mem: %.2f GiB", i, []float64{20, 31, 33, 33.5, 40}[min(i/12, 4)])
		},
		"slow saturation": func(i int) string {
			return fmt.Sprintf("step %d loss 1.0 mem %.2f GiB", i, 10+20*float64(i)/float64(i+15))
		},
		"little":      func(i int) string { return fmt.Sprintf("step %d loss 1.0 mem %.3f GiB", i, 30+0.002*float64(i)) },
		"host memory": func(i int) string { return fmt.Sprintf("step %d loss 1.0 cpu_mem %.3f GiB", i, 3+0.5*float64(i)) },
	} {
		if s := find(collect(lines(60, form)), "series.memory_growth"); s != nil {
			t.Errorf("%s: %v", name, s.Fields)
		}
	}
}

func TestNonFinite(t *testing.T) {
	sound := lines(20, func(i int) string { return fmt.Sprintf("iter %d: loss %.4f, time 500ms", 40*i, 3.5-0.01*float64(i)) })
	s := find(collect(sound+lines(5, func(i int) string { return fmt.Sprintf("iter %d: loss nan, time 500ms", 800+40*i) })), "series.loss_nan")
	if s == nil || s.Fields["step"] != "800" || s.Fields["metric"] != "loss" || s.Evidence.Line != 21 || s.Fields["onset"] != "sudden" {
		t.Fatalf("%+v", s)
	}
	for name, text := range map[string]string{
		"one skipped step":      "step 0 loss nan grad_norm inf scale 65536\n" + sound,
		"skips in the middle":   sound + "step 900 loss inf grad_norm nan\n" + sound,
		"gradient skipped once": sound + "step 900 loss 2.0 grad_norm nan\nstep 901 loss 2.0 grad_norm 1.0",
		"names":                 lines(20, func(i int) string { return fmt.Sprintf("step %d loss 2.0 nan_count 0 has_inf False", i) }),
	} {
		if s := find(collect(text), "series.loss_nan"); s != nil {
			t.Errorf("%s: %v", name, s.Fields)
		}
	}
	short := find(collect("step 1 | loss = 27.0\nstep 2 | loss = 270.0\nstep 3 | loss = nan\nstep 4 | loss = nan"), "series.loss_nan")
	if short == nil || short.Fields["onset"] != "runaway" {
		t.Errorf("short: %+v", short)
	}
	norm := find(collect("step 7 loss 2.31 grad_norm 1.2\nstep 8 loss 2.35 grad_norm 88\nstep 9 loss 9.8 grad_norm 10233\nstep 10 loss nan grad_norm nan"), "series.loss_nan")
	if norm == nil || norm.Fields["onset"] != "runaway" {
		t.Errorf("gradient norm that leaps: %+v", norm)
	}
	spike := find(collect("step 6 loss 2.3 grad_norm 1\nstep 7 loss 2.31 grad_norm 90\nstep 8 loss 2.35 grad_norm 88\nstep 9 loss nan grad_norm nan\nstep 10 loss nan grad_norm nan"), "series.loss_nan")
	if spike == nil || spike.Fields["onset"] != "sudden" {
		t.Errorf("one spike: %+v", spike)
	}
	run := find(collect(lines(12, func(i int) string {
		return fmt.Sprintf("step %d loss %g grad_norm %g", i, math.Pow(2, float64(i)), math.Pow(4, float64(i)))
	})+"step 12 loss inf grad_norm nan\nstep 13 loss nan grad_norm nan"), "series.loss_nan")
	if run == nil || run.Fields["onset"] != "runaway" || run.Fields["value"] != "inf" {
		t.Errorf("%+v", run)
	}
}

func TestScaleCollapse(t *testing.T) {
	fall := lines(16, func(i int) string {
		return fmt.Sprintf("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: %d, reducing to %d", 65536>>i, 32768>>i)
	})
	s := find(collect(fall), "series.scale_collapse")
	if s == nil || s.Fields["from"] != "32768" || s.Fields["to"] != "2" && s.Fields["to"] != "1" {
		t.Fatalf("%+v", s)
	}
	zero := find(collect(lines(15, func(i int) string {
		return fmt.Sprintf("step %d loss inf grad_norm nan scale %.1f", 4*i, 65536*math.Pow(2, -1.9*float64(i)))
	})), "series.scale_collapse")
	if zero == nil || zero.Fields["to"] != "0" {
		t.Errorf("%+v", zero)
	}
	for name, text := range map[string]string{
		"one skip at the start": "Gradient overflow. Skipping step, loss scaler 0 reducing loss scale to 32768.0\n" + lines(30, func(i int) string { return fmt.Sprintf("step %d loss 2 loss_scale: 32768", i) }),
		"up and down":           lines(30, func(i int) string { return fmt.Sprintf("step %d loss 2 loss_scale: %d", i, 1024<<(i%3)) }),
		"scale one in bf16":     lines(30, func(i int) string { return fmt.Sprintf("iteration %d | lm loss: 2.0 | loss scale: 1.0 |", i) }),
	} {
		if s := find(collect(text), "series.scale_collapse"); s != nil {
			t.Errorf("%s: %v", name, s.Fields)
		}
	}
}

func TestDivergence(t *testing.T) {
	s := find(collect(lines(60, func(i int) string {
		v := 3 - 0.04*float64(i)
		if i > 40 {
			v = 1.5 * math.Pow(1.4, float64(i-40))
		}
		return fmt.Sprintf("step %d loss %.3f", i, v)
	})), "series.divergence")
	if s == nil || s.Fields["metric"] != "loss" {
		t.Fatalf("%+v", s)
	}
	for name, form := range map[string]func(i int) string{
		"falling": func(i int) string { return fmt.Sprintf("step %d loss %.3f", i, 3/float64(i+1)) },
		"one spike": func(i int) string {
			return fmt.Sprintf("step %d loss %.3f", i, map[bool]float64{true: 21, false: 2}[i == 30])
		},
		"noisy":  func(i int) string { return fmt.Sprintf("step %d loss %.3f", i, 2+math.Sin(float64(i))) },
		"reward": func(i int) string { return fmt.Sprintf("step %d loss %.3f", i, -1+float64(i)) },
	} {
		if s := find(collect(lines(60, form)), "series.divergence"); s != nil {
			t.Errorf("%s: %v", name, s.Fields)
		}
	}
}

// A few lines are enough where loss and gradient norm shoot up together, and where the
// trainer writes 0 for a loss that is not finite.
func TestDivergenceOfFewPoints(t *testing.T) {
	row := func(loss, norm string) string {
		return "{'loss': " + loss + ", 'grad_norm': " + norm + ", 'epoch': 0.1}\n"
	}
	up := row("2.4", "0.8") + row("2.6", "2.5") + row("7.1", "61") + row("40.2", "3900")
	if s := find(collect(up), "series.divergence"); s == nil {
		t.Error("no divergence in four points")
	}
	if s := find(collect(up+row("0.0", "nan")), "series.loss_nan"); s == nil || s.Fields["onset"] != "runaway" {
		t.Errorf("a zero behind it: %+v", s)
	}
	for name, text := range map[string]string{
		"one spike":         row("2.4", "0.8") + row("2.6", "0.9") + row("41.0", "700") + row("2.5", "0.9"),
		"a zero of its own": row("2.4", "0.8") + row("0.2", "0.9") + row("0.01", "0.5") + row("0.0", "0.1"),
	} {
		if got := collect(text); find(got, "series.divergence") != nil || find(got, "series.loss_nan") != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPhases(t *testing.T) {
	const oom = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total capacity; 7.20 GiB already allocated)"
	steps := lines(10, func(i int) string { return fmt.Sprintf("iter %d: loss %.2f, time 900ms", i, 10-float64(i)/10) })
	if s := find(collect("Resuming training from out\nnumber of parameters: 353.77M\n"+oom), "series.oom_on_resume"); s == nil || s.Evidence.Line != 1 || s.Fields["oom_line"] != "3" {
		t.Errorf("resume: %+v", s)
	}
	if s := find(collect("Resuming training from out\n"+steps+oom), "series.oom_on_resume"); s != nil {
		t.Errorf("far after the resume: %v", s.Fields)
	}
	for name, text := range map[string]string{
		"skipped":      "Resuming training from out\n" + oom + "; Skipping batch\n" + steps,
		"went on":      "Resuming training from out\n" + oom + "\n" + strings.ReplaceAll(steps+steps+steps, "iter ", "iter 50"),
		"advice":       "Resuming training from out\nhint: lower the batch size on CUDA out of memory errors\n" + steps,
		"caught class": "Resuming training from out\n    except torch.cuda.OutOfMemoryError:\n" + steps,
	} {
		if s := find(collect(text), "series.oom_on_resume"); s != nil {
			t.Errorf("%s: %v", name, s.Fields)
		}
	}
	// A terminal's log of two runs: the resume that failed, and one from the start.
	again := collect("Resuming training from out\n" + oom + "\n" + steps + steps + steps)
	if s := find(again, "series.oom_on_resume"); s == nil {
		t.Error("another run behind it: no signal")
	}
	if s := find(again, "series.progress"); s == nil || s.Fields["resumed"] != "no" || s.Fields["oom"] != "no" {
		t.Errorf("another run behind it: %+v", s)
	}
	if s := find(collect(steps+"Resuming training from out\n"+oom), "series.progress"); s == nil || s.Fields["resumed"] != "no" || s.Fields["steps"] != "10" {
		t.Errorf("another run before it: %+v", s)
	}
	if s := find(collect(oom), "series.oom_on_resume"); s != nil {
		t.Errorf("no resume: %v", s.Fields)
	}
	if s := find(collect(steps+"***** Running Evaluation *****\n  Num examples = 200\n"+oom), "series.oom_in_eval"); s == nil {
		t.Error("no evaluation seen")
	}
	if s := find(collect(steps+"***** Running Evaluation *****\nstep 11: train loss 1.2, val loss 1.3\n"+steps+oom), "series.oom_in_eval"); s != nil {
		t.Errorf("training went on: %v", s.Fields)
	}
	if s := find(collect(steps), "series.progress"); s == nil || s.Fields["steps"] != "10" || s.Fields["resumed"] != "no" {
		t.Errorf("progress: %+v", s)
	}
}

func TestBatchFit(t *testing.T) {
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 671.12 MiB is free."
	s := find(collect("step 0 batch 8 loss 1.6 peak 30.19 GiB\nstep 1 batch 16 loss 21.5 peak 46.70 GiB\nstep 2 batch 32 loss 1.7 peak 74.95 GiB\nstep 3 batch 64 loss 1.5 peak 131.45 GiB\n"+oom), "series.batch_fit")
	if s == nil || s.Fields["fits_batch"] != "64" {
		t.Fatalf("%+v", s)
	}
	if s := find(collect("epoch 0 batch 0 loss 1 mem 3 GiB\nepoch 0 batch 1 loss 1 mem 3 GiB\n"+oom), "series.batch_fit"); s != nil {
		t.Errorf("a counter is no size: %v", s.Fields)
	}
}

func TestRanksApart(t *testing.T) {
	sigs := collect(lines(60, func(i int) string {
		return fmt.Sprintf("%d> step %d loss %.3f", i%2, i/2, map[bool]float64{true: math.NaN(), false: 2}[i%2 == 1 && i > 40])
	}))
	s := find(sigs, "series.loss_nan")
	if s == nil || s.Subject.Rank == nil || *s.Subject.Rank != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestEpochsStringTogether(t *testing.T) {
	var c Collector
	for e := range 3 {
		for i := 0; i < 100; i += 10 {
			c.Line(fmt.Sprintf("Epoch %d: %d/100 [00:10<00:10, loss=1.0] gpu_mem=%dMB", e, i, 1000*(10*e+i/10+1)), -1, 1)
		}
	}
	r := c.ranks[noRank]
	for i := 1; i < len(r.memory.steps); i++ {
		if r.memory.steps[i] <= r.memory.steps[i-1] {
			t.Fatalf("steps %v", r.memory.steps)
		}
	}
}

func TestBounded(t *testing.T) {
	var c Collector
	for i := range 200_000 {
		c.Line(fmt.Sprintf("step %d loss 1.5 mem %d MiB", i, 1000+i/100), i%4, i+1)
	}
	for _, r := range c.ranks {
		if n := len(r.loss.values); n > maxPoints || cap(r.loss.values) > 4*maxPoints {
			t.Errorf("%d points kept", n)
		}
	}
	for i := range 100_000 {
		c.Line("step 1 loss 1.0", i, i)
	}
	if len(c.ranks) > maxRanks {
		t.Errorf("%d ranks kept", len(c.ranks))
	}
}

// A log of any length keeps what matters: its end, and the step at which NaN began.
func TestLongLog(t *testing.T) {
	const n = 50_000
	var c Collector
	for i := range n {
		loss := "1.5"
		if i >= n-100 {
			loss = "nan"
		}
		c.Line(fmt.Sprintf("INFO step %d loss %s mem %.3f GiB", i, loss, 10+float64(i)/1000), -1, i+1)
	}
	sigs := c.Signals()
	if s := find(sigs, "series.loss_nan"); s == nil || s.Fields["step"] != strconv.Itoa(n-100) || s.Evidence.Line != n-99 {
		t.Errorf("%+v", s)
	}
	if s := find(sigs, "series.memory_growth"); s == nil || s.Fields["last_text"] != "60.0 GiB" || s.Evidence.Line != n {
		t.Errorf("%+v", s)
	}
}

// Noise that is interleaved, and points that are dropped, do not make a leak of a flat
// curve, nor hide one.
func TestGrowthProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(20, 200).Draw(t, "n")
		base := rapid.Float64Range(2, 60).Draw(t, "base")
		leak := rapid.Bool().Draw(t, "leak")
		slope := 0.0
		if leak {
			slope = base / float64(n) * rapid.Float64Range(0.6, 3).Draw(t, "slope")
		}
		var c Collector
		for i := range n {
			c.Line(fmt.Sprintf("step %d loss 1.0 mem %.3f GiB", i, base+slope*float64(i)), -1, 2*i+1)
			c.Line("INFO something else happened", -1, 2*i+2)
		}
		if got := find(c.Signals(), "series.memory_growth") != nil; got != leak {
			t.Fatalf("leak %v, seen %v", leak, got)
		}
	})
}

func FuzzSeries(f *testing.F) {
	f.Add("Epoch 0: 3%| | 100/5200 [01:30<37:52, loss=0.5] gpu_mem=7.6GB\nCUDA out of memory. Tried", 3)
	f.Add("{'loss': nan, 'grad_norm': inf, 'epoch': 1e400}\nstep 99999999999999999999 loss 1e999 mem 9e9 TiB", -1)
	f.Add("step 1 loss .\nstep -1 loss +inf\nscale 1e-400 loss_scale: 0\nResuming from x", 0)
	f.Fuzz(func(t *testing.T, text string, rank int) {
		var c Collector
		for i, line := range strings.Split(text, "\n") {
			c.Line(line, rank, i+1)
		}
		for _, s := range c.Signals() {
			if s.Kind == "" || s.Evidence.Line < 1 || s.Evidence.Text == "" {
				t.Fatalf("%+v", s)
			}
			for k, v := range s.Fields {
				if strings.Contains(k, "_bytes") && (strings.Contains(v, "NaN") || strings.Contains(v, "Inf")) {
					t.Fatalf("%s=%s", k, v)
				}
			}
		}
	})
}
