package burn

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// Results of a test of one GPU.
const (
	Pass       = "pass"
	Fail       = "fail"
	Incomplete = "incomplete" // it began, and did not do all that it should
	NotRun     = "not run"    // nothing was tested
)

// An Outcome is what a test of one GPU came to.
type Outcome struct {
	Test string   `json:"test"` // memtest, stress, bandwidth
	GPU  Identity `json:"gpu"`

	Memory     *Memory    `json:"memory,omitempty"`
	Class      *Class     `json:"class,omitempty"`
	Records    []Record   `json:"records,omitempty"`
	Stress     *Stress    `json:"stress,omitempty"`
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	Rates      []Rate     `json:"rates,omitempty"`
	Watch      Watch      `json:"watch"`
	Limits     Limits     `json:"limits"`

	Failure     *Failure     `json:"failure,omitempty"`
	Stuck       *child.Stuck `json:"stuck,omitempty"`
	Interrupted bool         `json:"interrupted,omitempty"`
	Refused     string       `json:"refused,omitempty"` // why the test was not begun
	Others      []string     `json:"others,omitempty"`  // other processes on the GPU
	Done        bool         `json:"done"`

	Begun time.Time `json:"begun"`
	Ended time.Time `json:"ended"`
}

// covered is the least share of the free memory that a passed test has had.
const covered = 0.9

// Result is pass, fail, incomplete or not run, and why it is one of the last two, in
// English as documents have it.
func (o *Outcome) Result() (result, why string) { return o.ResultIn("en") }

// ResultIn is Result for people.
func (o *Outcome) ResultIn(l string) (result, why string) {
	if o.wrong() > 0 {
		return Fail, ""
	}
	say := func(en, zh string, values ...any) { why = fmt.Sprintf(lang.Pick(l, en, zh), values...) }
	tested := o.tested()
	switch {
	case o.Refused != "":
		return NotRun, o.refusal(l)
	case o.Stuck != nil && o.Stuck.Call == "":
		say("gave up on the start of the test after %.0f s", "测试启动 %.0f 秒后仍无响应，已放弃", o.Stuck.For.Seconds())
	case o.Stuck != nil:
		say("gave up on %s after %.0f s", "%s 在 %.0f 秒后仍未返回，已放弃", o.Stuck.Call, o.Stuck.For.Seconds())
	case o.Interrupted:
		say("interrupted", "被中断")
	case o.Failure != nil:
		why = o.Failure.Text
	case !o.Done:
		say("the test's process ended before the test did", "测试进程先于测试结束")
	case !tested:
		say("nothing was tested", "未测试任何内容")
	case o.Memory != nil && float64(o.Memory.Tested) < covered*float64(o.Memory.Free):
		say("only %d of %d MiB that were free could be allocated", "空闲的 %[2]d MiB 中只分配到 %[1]d MiB", o.Memory.Tested>>20, o.Memory.Free>>20)
	default:
		return Pass, ""
	}
	if !tested {
		return NotRun, why
	}
	return Incomplete, why
}

// NoPeer is why a GPU's copies were not measured.
const NoPeer = "there is no second GPU to copy from"

// InUse is why a GPU is not tested while processes are on it.
func InUse(others []string) string { return inUse("en", others) }

func inUse(l string, others []string) string {
	return fmt.Sprintf(lang.Pick(l, "in use by %s; --force-shared tests the free memory beside them", "正被 %s 使用；--force-shared 可只测试其余空闲显存"), strings.Join(others, ", "))
}

func (o *Outcome) refusal(l string) string {
	switch o.Refused {
	case NoPeer:
		return lang.Pick(l, NoPeer, "没有第二块 GPU 可供互拷")
	case InUse(o.Others):
		return inUse(l, o.Others)
	}
	return o.Refused
}

// wrong is the number of wrong words or digests.
func (o *Outcome) wrong() uint64 {
	var n uint64
	if o.Memory != nil {
		n += o.Memory.Errors.Words
	}
	if o.Stress != nil {
		for _, p := range o.Stress.Paths {
			n += p.Wrong + p.NaNs
		}
	}
	for _, r := range o.Rates {
		n += r.Wrong
	}
	return n
}

// tested reports whether anything was compared at all.
func (o *Outcome) tested() bool {
	switch o.Test {
	case TaskMemory:
		return o.Memory != nil && o.Memory.Verified > 0
	case TaskStress:
		if o.Stress == nil {
			return false
		}
		for _, p := range o.Stress.Paths {
			if p.Launches > 0 {
				return true
			}
		}
		return false
	}
	return len(o.Rates) > 0
}

// take adds a worker's event.
func (o *Outcome) take(ev event) {
	if ev.GPU != nil {
		o.GPU = *ev.GPU
	}
	if ev.Memory != nil {
		o.Memory = ev.Memory
	}
	if ev.Stress != nil {
		o.Stress = ev.Stress
	}
	if room := records - len(o.Records); len(ev.Records) > 0 && room > 0 {
		o.Records = append(o.Records, ev.Records[:min(room, len(ev.Records))]...)
	}
	o.Mismatches = append(o.Mismatches, ev.Mismatches...)
	o.Rates = append(o.Rates, ev.Rates...)
	if ev.Failure != nil {
		o.Failure = ev.Failure
	}
	o.Done = o.Done || ev.Done
}
