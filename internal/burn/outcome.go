package burn

import (
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
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

// Result says what the outcome is worth, and why where it is neither pass nor fail.
func (o *Outcome) Result() (result, why string) {
	if o.wrong() > 0 {
		return Fail, ""
	}
	tested := o.tested()
	switch {
	case o.Refused != "":
		return NotRun, o.Refused
	case o.Stuck != nil:
		why = fmt.Sprintf("gave up on %s after %.0f s", orStart(o.Stuck.Call), o.Stuck.For.Seconds())
	case o.Interrupted:
		why = "interrupted"
	case o.Failure != nil:
		why = o.Failure.Text
	case !o.Done:
		why = "the test's process ended before the test did"
	case !tested:
		why = "nothing was tested"
	case o.Memory != nil && float64(o.Memory.Tested) < covered*float64(o.Memory.Free):
		why = fmt.Sprintf("only %d of %d MiB that were free could be allocated", o.Memory.Tested>>20, o.Memory.Free>>20)
	default:
		return Pass, ""
	}
	if !tested {
		return NotRun, why
	}
	return Incomplete, why
}

func orStart(call string) string {
	if call == "" {
		return "the start of the test"
	}
	return call
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
