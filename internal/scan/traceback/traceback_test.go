package traceback

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// read gives a text of one stream to a reader. Lines that begin with "N|" are of
// stream N.
func read(text string) []*Exception {
	r := New()
	for i, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		add(r, line, i+1)
	}
	return r.Finish()
}

func add(r *Reader, line string, no int) {
	l := Line{No: no, From: line}
	if len(line) > 1 && isDigit(line[0]) && line[1] == '|' {
		l.Stream, line = line[:1], line[2:]
	}
	l.Text = strings.TrimSpace(line)
	l.Indent = len(line) - len(strings.TrimLeft(line, " "))
	r.Add(l)
}

func say(e *Exception) string {
	s := fmt.Sprintf("%d %s: %s", e.At.No, e.Type, e.Message)
	if e.Fatal {
		s = fmt.Sprintf("%d fatal: %s", e.At.No, e.Message)
	}
	if e.User.File != "" {
		s += " at " + e.User.At() + " " + e.User.Func
	}
	for _, f := range []struct {
		is   bool
		word string
	}{
		{e.Lib != "", "lib=" + e.Lib}, {e.Thread != "", "thread=" + e.Thread}, {e.Rank != "", "rank=" + e.Rank}, {e.Cause != "", "cause=" + e.Cause},
		{e.LedTo != "", "led_to=" + e.LedTo}, {e.Final, "final"}, {e.Truncated, "truncated"}, {e.Count > 1, fmt.Sprintf("x%d", e.Count)},
	} {
		if f.is {
			s += " " + f.word
		}
	}
	return s
}

const simple = `Traceback (most recent call last):
  File "/home/u/train.py", line 40, in <module>
    main()
  File "/home/u/train.py", line 30, in main
    loss = model(x)
           ^^^^^^^^
  File "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1751, in _call_impl
    return forward_call(*args, **kwargs)
RuntimeError: CUDA error: an illegal memory access was encountered
CUDA kernel errors might be asynchronously reported`

var cases = []struct {
	name, text string
	want       []string
}{
	{"simple", simple, []string{"9 RuntimeError: CUDA error: an illegal memory access was encountered at /home/u/train.py:30 main lib=torch final"}},
	{"survived", simple + "\nINFO step 3 loss 0.4\nINFO step 4 loss 0.3", []string{"9 RuntimeError: CUDA error: an illegal memory access was encountered at /home/u/train.py:30 main lib=torch"}},
	{"shutdown noise", simple + "\nINFO shutting down workers\nwandb: Run history:\n[W] NCCL INFO comm Abort COMPLETE\nINFO cleaning up", []string{"9 RuntimeError: CUDA error: an illegal memory access was encountered at /home/u/train.py:30 main lib=torch final"}},
	{"launcher counts the dead", simple + "\nstep 4 loss 0.2\nfailed (exitcode: 1) local_rank: 2\nstep 5 loss 0.1\nstep 6 loss 0.1", []string{"9 RuntimeError: CUDA error: an illegal memory access was encountered at /home/u/train.py:30 main lib=torch final"}},
	{"direct cause", `
Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
KeyError: 'x'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 9, in <module>
    f()
pkg.mod.CustomTrouble: no x`, []string{"4 KeyError: 'x' at a.py:1 f led_to=CustomTrouble final", "11 CustomTrouble: no x at a.py:9 <module> cause=KeyError final"}},
	{"handled", `
Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 9, in <module>
    f()
ValueError: no x`, []string{"4 KeyError: 'x' at a.py:1 f led_to=ValueError", "11 ValueError: no x at a.py:9 <module> cause=KeyError final"}},
	{"thread", "Exception in thread Thread-3 (_pump):\n" + simple, []string{"10 RuntimeError: CUDA error: an illegal memory access was encountered at /home/u/train.py:30 main lib=torch thread=Thread-3 (_pump) final"}},
	{"ignored", "Exception ignored in: <function X.__del__ at 0x7f>\n" + simple, []string{"10 RuntimeError: CUDA error: an illegal memory access was encountered at /home/u/train.py:30 main lib=torch"}},
	{"service prefix on each line", `
ERROR 11-21 10:10:03 engine.py:366] Traceback (most recent call last):
ERROR 11-21 10:10:03 engine.py:366]   File "/usr/lib/python3/dist-packages/vllm/engine.py", line 7, in run
ERROR 11-21 10:10:04 engine.py:366]     engine = make()
INFO 11-21 10:10:04 other.py:1] hello
ERROR 11-21 10:10:04 engine.py:366] ValueError: No available memory`, []string{"5 ValueError: No available memory lib=vllm final"}},
	{"sentence before, lines bare", `
ERROR 11-21 10:10:03 [core.py:396] EngineCore hit an exception: Traceback (most recent call last):
ERROR 11-21 10:10:03 [core.py:396]   File "/home/u/run.py", line 7, in run
ERROR 11-21 10:10:03 [core.py:396]     engine = make()
ERROR 11-21 10:10:03 [core.py:396] torch.OutOfMemoryError: CUDA out of memory.`, []string{"4 OutOfMemoryError: CUDA out of memory. at /home/u/run.py:7 run final"}},
	{"prefix before the first line alone", `
1|Scheduler hit an exception: Traceback (most recent call last):
  File "a.py", line 3, in f
    g()
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in f
    g()
ValueError: y
words`, []string{"4 KeyError: 'x' at a.py:3 f led_to=ValueError", "11 ValueError: y at a.py:3 f cause=KeyError final"}},
	{"bar glued to the front", `
 45%|####      | 45/100 [00:10<00:12,  4.51it/s]Traceback (most recent call last):
  File "a.py", line 3, in f
    g()
AssertionError`, []string{"4 AssertionError:  at a.py:3 f final"}},
	{"worker's own traceback", `
Traceback (most recent call last):
  File "train.py", line 5, in <module>
    for b in loader:
RuntimeError: Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/opt/lib/python3.12/site-packages/torch/utils/data/_utils/worker.py", line 3, in _worker_loop
    data = fetch()
  File "data.py", line 9, in __getitem__
    raise ValueError("bad")
ValueError: bad`, []string{"4 RuntimeError: Caught ValueError in DataLoader worker process 0. at train.py:5 <module> cause=ValueError final", "10 ValueError: bad at data.py:9 __getitem__ lib=torch led_to=RuntimeError final"}},
	{"spawned process", `
Traceback (most recent call last):
  File "train.py", line 5, in <module>
    mp.spawn(f)
torch.multiprocessing.spawn.ProcessRaisedException: 

-- Process 2 terminated with the following error:
Traceback (most recent call last):
  File "train.py", line 3, in f
    g()
ValueError: bad`, []string{"4 ProcessRaisedException:  at train.py:5 <module> rank=2 cause=ValueError final", "10 ValueError: bad at train.py:3 f rank=2 led_to=ProcessRaisedException final"}},
	{"actor's frames behind the class", `
Traceback (most recent call last):
  File "drive.py", line 5, in <module>
    ray.get(x)
ray.exceptions.RayTaskError(ValueError): ray::train() (pid=12, ip=10.0.0.1)
  File "work.py", line 3, in train
    g()
ValueError: bad`, []string{"4 RayTaskError(ValueError): ray::train() (pid=12, ip=10.0.0.1) at drive.py:5 <module> cause=ValueError final", "7 ValueError: bad at work.py:3 train led_to=RayTaskError(ValueError) final"}},
	{"exception group", `
  + Exception Group Traceback (most recent call last):
  |   File "x.py", line 3, in <module>
  |     raise eg
  | ExceptionGroup: eg (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "y.py", line 4, in f
    |     g()
    | TypeError: 2
    +------------------------------------`, []string{"4 ExceptionGroup: eg (2 sub-exceptions) at x.py:3 <module> cause=ValueError final", "6 ValueError: 1 at x.py:3 <module> led_to=ExceptionGroup final", "11 TypeError: 2 at y.py:4 f final"}},
	{"fatal", `
Fatal Python error: Segmentation fault

Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Current thread 0x00007f02 (most recent call first):
  File "/opt/lib/python3.11/site-packages/torch/autograd/__init__.py", line 200 in backward
  File "train.py", line 88 in step
  File "train.py", line 99 in <module>

Extension modules: numpy`, []string{"1 fatal: Segmentation fault at train.py:88 step lib=torch final"}},
	{"rich", `
╭───────────── Traceback (most recent call last) ─────────────╮
│ /home/u/train.py:12 in main                                 │
│                                                             │
│    9 │                                                      │
│ ❱ 12 │   step()                                             │
│ /home/u/x/site-packages/torch/cuda/__init__.py:3 in init    │
╰─────────────────────────────────────────────────────────────╯
ValueError: bad`, []string{"8 ValueError: bad at /home/u/train.py:12 main lib=torch final"}},
	{"notebook", `
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
<ipython-input-5-abc> in <module>
      1 x = 1
----> 2 f(x)
RuntimeError: bad`, []string{"6 RuntimeError: bad at <ipython-input-5-abc>:2 <module> final"}},
	{"no source lines, indentation lost", `
Traceback (most recent call last):
File "a.py", line 1, in f
File "b.pyx", line 2, in g
ValueError: x`, []string{"4 ValueError: x at b.pyx:2 g final"}},
	{"syntax error", `
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    import b
  File "/home/u/b.py", line 3
    def f(
         ^
SyntaxError: '(' was never closed`, []string{"7 SyntaxError: '(' was never closed at /home/u/b.py:3  final"}},
	{"repeated", strings.Repeat("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nValueError: x 1\n", 3), []string{"4 ValueError: x 1 at a.py:1 f final x3"}},
	{"cut off", "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()", []string{"3 :  at a.py:1 f final truncated"}},
	{"only quoted", "print('Traceback (most recent call last):')\nok", nil},
	{"only announced", "Exception in thread Thread-1:\nok", nil},
	{"launcher", `
Traceback (most recent call last):
  File "/opt/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/opt/venv/lib/python3.10/site-packages/torch/distributed/run.py", line 879, in main
    run(args)
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
============================
train.py FAILED`, []string{"6 ChildFailedError: train.py FAILED lib=torch final"}},
	{"other words at the margin", `
Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
Epoch: 3
INFO: x
some words
ValueError: y`, []string{"7 ValueError: y at a.py:1 f final"}},
	{"no class after all", "Traceback (most recent call last):\n" + strings.Repeat("words\n", 60), nil},
}

func TestTracebacks(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range read(c.text) {
				got = append(got, say(e))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

// TestCode: the source text of the user's frame is that of its first line.
func TestCode(t *testing.T) {
	if e := read(simple)[0]; e.User.Code != "loss = model(x)" || e.Raised.Line != "1751" || len(e.Lines) != 2 {
		t.Errorf("got %+v", e)
	}
}

// TestInterleaved: however the lines of streams mix, each gives what it gives alone.
func TestInterleaved(t *testing.T) {
	for _, a := range cases {
		for _, b := range cases {
			if strings.Contains(a.text+b.text, "\n1|") {
				continue // has streams of its own
			}
			one, two := strings.Split(strings.Trim(a.text, "\n"), "\n"), strings.Split(strings.Trim(b.text, "\n"), "\n")
			rng := rand.New(rand.NewPCG(uint64(len(a.text)), uint64(len(b.text))))
			r := New()
			for i, j, no := 0, 0, 1; i < len(one) || j < len(two); no++ {
				if j == len(two) || i < len(one) && rng.IntN(2) == 0 {
					add(r, "1|"+one[i], no)
					i++
				} else {
					add(r, "2|"+two[j], no)
					j++
				}
			}
			got := map[string][]string{}
			for _, e := range r.Finish() {
				_, rest, _ := strings.Cut(say(e), " ")
				got[e.At.Stream] = append(got[e.At.Stream], rest)
			}
			for stream, c := range map[string][]string{"1": a.want, "2": b.want} {
				var want []string
				for _, w := range c {
					_, rest, _ := strings.Cut(w, " ")
					want = append(want, rest)
				}
				if strings.Join(got[stream], "\n") != strings.Join(want, "\n") {
					t.Errorf("%s with %s: stream %s\n got  %q\n want %q", a.name, b.name, stream, got[stream], want)
				}
			}
		}
	}
}

// TestBounds: endless input stays small.
func TestBounds(t *testing.T) {
	r := New()
	for i := range 50_000 {
		add(r, []string{"Traceback (most recent call last):", `  File "a.py", line 3, in f`, "    g()"}[min(i, 1+i%2)], i+1)
	}
	if got := r.Finish(); len(got) != 1 || !got[0].Truncated {
		t.Errorf("an endless traceback: %d", len(got))
	}
	r = New()
	for i := range 20_000 {
		r.Add(Line{Stream: fmt.Sprint(i), Text: "Traceback (most recent call last):", No: i})
	}
	if len(r.streams) > maxStreams {
		t.Errorf("%d streams", len(r.streams))
	}
	r = New()
	add(r, "Traceback (most recent call last):", 1)
	for i := range 3 * watchRows {
		add(r, "1|x", i+2)
	}
	if r.Active() {
		t.Error("a silent stream is watched for ever")
	}
}

func FuzzTraceback(f *testing.F) {
	for _, c := range cases {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := strings.Count(text, "\n") + 1
		for _, e := range read(text) {
			if e.At.No < 1 || e.At.No > n || e.Count < 1 {
				t.Errorf("line %d of %d, count %d", e.At.No, n, e.Count)
			}
		}
	})
}

// TestWatch: lines of no traceback, and what their writers do next.
func TestWatch(t *testing.T) {
	for _, c := range []struct {
		name, behind string
		lived        bool
	}{
		{"progress", "step 5 loss 2.1\nstep 6 loss 2.0", true},
		{"done", "done training in 1811.2 seconds", true},
		{"chatter", "INFO tracker: 3 files kept\nINFO tracker: synced\nINFO bye", false},
		{"one more step of another rank", "step 5 loss 2.1", false},
		{"silence", "", false},
		{"launcher", "step 5 loss 2.1\nsrun: error: n7: task 3: Exited with exit code 1", false},
	} {
		r := New()
		r.Watch(Line{Text: "RuntimeError: no memory", No: 1})
		for i, line := range strings.Split(c.behind, "\n") {
			r.Add(Line{Text: line, No: i + 2})
		}
		r.Finish()
		if got := len(r.Outlived()) == 1; got != c.lived {
			t.Errorf("%s: outlived %v", c.name, r.Outlived())
		}
		if r.Active() {
			t.Errorf("%s: still watched", c.name)
		}
	}
}

// TestChain: what ended a program is also what led to the exception that did.
func TestChain(t *testing.T) {
	all := read(simple + "\n\nDuring handling of the above exception, another exception occurred:\n\n" + simple)
	if len(all) != 2 && len(all) != 1 {
		t.Fatalf("%d exceptions", len(all))
	}
	for _, e := range all {
		if !e.Ended() {
			t.Errorf("not ended: %s", say(e))
		}
	}
}
