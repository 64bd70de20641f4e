package burn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
)

// A Job is one worker to run.
type Job struct {
	Task    string // TaskMemory, TaskStress, TaskBandwidth
	PCI     string // of the GPU; of the first for peers
	Options any    // MemOptions, StressOptions, RateOptions
	// Call is how long one driver call may take; 0 is a minute.
	Call time.Duration
	Env  []string
}

// callLimit is long for any call that works: a pass over the memory of a slow card takes
// less than a second.
const callLimit = time.Minute

// Run runs a worker in a child process and waits. progress, when not nil, is called as the
// test goes on. A worker that hangs is given up on; an error is about this program, never
// about the GPU.
func Run(ctx context.Context, r *child.Runner, j Job, progress func(Progress)) (*Outcome, error) {
	args, err := json.Marshal(j.Options)
	if err != nil {
		return nil, fmt.Errorf("write options: %w", err)
	}
	o := &Outcome{Test: j.Task, GPU: Identity{PCI: j.PCI}, Begun: time.Now().UTC()}
	out := &collector{take: func(ev event) {
		o.take(ev)
		if ev.Progress != nil && progress != nil {
			progress(*ev.Progress)
		}
	}}
	if j.Call == 0 {
		j.Call = callLimit
	}
	stuck, err := r.Run(ctx, child.Options{Task: j.Task, Args: []string{string(args)}, Call: j.Call, Out: out, Env: j.Env})
	o.Ended = time.Now().UTC()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		o.Interrupted, o.Stuck = true, stuck
	case errors.Is(err, child.ErrStuck):
		o.Stuck = stuck
	default:
		o.Failure = &Failure{Text: err.Error()}
	}
	if len(o.Records) > 0 {
		c := Classify(o.Records, o.Memory.dense())
		o.Class = &c
	}
	return o, nil
}

// List names the GPUs that CUDA shows to a process of this program. When it cannot, the
// failure says why.
func List(ctx context.Context, r *child.Runner, call time.Duration) ([]Identity, *Failure) {
	var list []Identity
	var failed *Failure
	out := &collector{take: func(ev event) {
		if ev.GPU != nil {
			list = append(list, *ev.GPU)
		}
		if ev.Failure != nil {
			failed = ev.Failure
		}
	}}
	if _, err := r.Run(ctx, child.Options{Task: TaskList, Args: []string{"{}"}, Call: call, Out: out}); err != nil {
		failed = &Failure{Text: err.Error()}
	}
	return list, failed
}

// dense is how many words the first pass with errors found wrong.
func (m *Memory) dense() uint64 {
	if m == nil {
		return 0
	}
	return m.FirstWrong
}
