package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Options of one run.
type Options struct {
	Task string
	Args []string
	// Call is how long one marked call may take. Total bounds the whole; zero means no
	// such bound.
	Call, Total time.Duration
	// Out gets the answer as it comes. It is not written to after Run has returned.
	Out io.Writer
	Env []string // added to the parent's
	// Alive says that the answer tells as well that the child is alive, as marks do: one
	// that answers all the time need not mark.
	Alive bool
}

// Stuck describes a child that did not answer in time.
type Stuck struct {
	Call string        // the driver call that did not return, "" before the first
	For  time.Duration // how long it was waited for
	PID  int
	// Unkillable is set when the process was still there after SIGKILL: it sleeps in
	// the kernel. State, Wait and Stack are then worth reading.
	Unkillable bool
	State      string // of the sleeping thread: "D (disk sleep)"
	Wait       string // the kernel function it sleeps in
	Stack      string // its kernel stack, innermost first, where readable (root)
}

// A Runner starts children. The zero value starts this program's own binary. It may be
// used by several goroutines.
type Runner struct {
	// Command is the program and the arguments before the task; default: this program
	// with Arg.
	Command []string

	mu    sync.Mutex
	stuck map[string]*stuckChild // by task and arguments
}

type stuckChild struct {
	info Stuck
	done chan struct{} // closed when the process has gone after all
}

// killWait is how long a killed child may take to go before it counts as unkillable.
const killWait = 400 * time.Millisecond

// Run starts a child and waits for its answer. The error holds ErrStuck when the child
// did not answer in time, and the returned Stuck says what is known. While an earlier
// child for the same task and arguments still hangs in the kernel, no second is started
// and its Stuck is returned again.
func (r *Runner) Run(ctx context.Context, o Options) (*Stuck, error) {
	key := o.Task + "\x00" + strings.Join(o.Args, "\x00")
	if s := r.stillStuck(key); s != nil {
		return s, fmt.Errorf("%s: %w: an earlier child still hangs", o.Task, ErrStuck)
	}
	if pid := orphan(o); pid != 0 {
		s := describe(pid)
		s.PID, s.Unkillable = pid, true
		return &s, fmt.Errorf("%s: %w: process %d of an earlier run still hangs", o.Task, ErrStuck, pid)
	}
	p, err := r.start(o)
	if err != nil {
		return nil, err
	}
	stuck, err := p.wait(ctx, o)
	if stuck != nil && stuck.Unkillable {
		r.mu.Lock()
		if r.stuck == nil {
			r.stuck = map[string]*stuckChild{}
		}
		r.stuck[key] = &stuckChild{*stuck, p.gone}
		r.mu.Unlock()
	}
	return stuck, err
}

func (r *Runner) stillStuck(key string) *Stuck {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stuck[key]
	if s == nil {
		return nil
	}
	select {
	case <-s.done:
		delete(r.stuck, key)
		return nil
	default:
		info := s.info
		return &info
	}
}

// A process is a started child.
type process struct {
	cmd    *exec.Cmd
	life   io.Closer     // its stdin
	gone   chan struct{} // closed when it has ended and was reaped
	err    error         // of Wait, valid after gone
	stderr *tail

	mu     sync.Mutex
	call   string
	since  time.Time
	closed bool // the answer is not wanted any more
	out    io.Writer
	alive  bool // Options.Alive
}

func (r *Runner) start(o Options) (*process, error) {
	argv := r.Command
	if argv == nil {
		argv = []string{"/proc/self/exe", Arg}
	}
	argv = append(append(argv[:len(argv):len(argv)], o.Task), o.Args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	if r.Command == nil {
		cmd.Args[0] = os.Args[0] // the name in process lists
	}
	cmd.Env = append(append(os.Environ(), envMarks+"=1"), o.Env...)
	p := &process{cmd: cmd, gone: make(chan struct{}), stderr: &tail{}, out: o.Out, alive: o.Alive, since: time.Now()}
	fail := func(err error) (*process, error) { return nil, fmt.Errorf("start child %s: %w", o.Task, err) }
	life, err := cmd.StdinPipe()
	if err != nil {
		return fail(err)
	}
	p.life = life
	// Plain pipes, read here: exec's own copying would make Wait wait for a child's
	// grandchildren, and could not be given up on.
	var pipes [3][2]*os.File
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll(pipes[:i])
			return fail(err)
		}
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = pipes[0][1], pipes[1][1], []*os.File{pipes[2][1]}
	if err := cmd.Start(); err != nil {
		closeAll(pipes[:])
		return fail(err)
	}
	var reading sync.WaitGroup
	for i, read := range []func(io.Reader){p.readOut, p.readErr, p.readCalls} {
		pipes[i][1].Close()
		reading.Go(func() { read(pipes[i][0]); pipes[i][0].Close() })
	}
	go func() {
		reading.Wait()
		p.err = cmd.Wait()
		close(p.gone)
	}()
	return p, nil
}

func closeAll(pipes [][2]*os.File) {
	for _, p := range pipes {
		p[0].Close()
		p[1].Close()
	}
}

func (p *process) readOut(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		p.mu.Lock()
		now := time.Now()
		if n > 0 && p.alive {
			p.call, p.since = "", now
		}
		if n > 0 && !p.closed && p.out != nil {
			_, _ = p.out.Write(buf[:n])            // the caller's writer keeps its own error,
			p.since = p.since.Add(time.Since(now)) // and its time is not the child's
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *process) readErr(r io.Reader) { _, _ = io.Copy(p.stderr, r) }

func (p *process) readCalls(r io.Reader) {
	readMarks(r, func(call string) {
		p.mu.Lock()
		p.call, p.since = call, time.Now()
		p.mu.Unlock()
	})
}

// wait ends when the child has ended, or when it must be given up on.
func (p *process) wait(ctx context.Context, o Options) (*Stuck, error) {
	defer p.life.Close()
	begun := time.Now()
	timer := time.NewTimer(p.left(&o, begun))
	defer timer.Stop()
	for {
		select {
		case <-p.gone:
			return nil, p.result(o.Task)
		case <-ctx.Done():
			s := p.abandon()
			if !s.Unkillable { // it was told to stop, and did
				s = nil
			}
			return s, fmt.Errorf("%s: %w", o.Task, ctx.Err())
		case <-timer.C:
			left := p.left(&o, begun)
			if left <= 0 {
				s := p.abandon()
				return s, fmt.Errorf("%s: %w: %s did not return in %.1f s", o.Task, ErrStuck, orWork(s.Call), s.For.Seconds())
			}
			timer.Reset(left)
		}
	}
}

// left is how long the child has time, as far as is known now: each sign of life gives it
// more, which is looked at only when this has passed.
func (p *process) left(o *Options, begun time.Time) time.Duration {
	left := time.Hour
	if o.Total > 0 {
		left = min(left, o.Total-time.Since(begun))
	}
	if o.Call > 0 {
		p.mu.Lock()
		left = min(left, o.Call-time.Since(p.since))
		p.mu.Unlock()
	}
	return left
}

func orWork(call string) string {
	if call == "" {
		return "the child"
	}
	return call
}

// abandon kills the child and says what it was doing.
func (p *process) abandon() *Stuck {
	s := describe(p.cmd.Process.Pid)
	p.mu.Lock()
	s.Call, s.For, s.PID = p.call, time.Since(p.since), p.cmd.Process.Pid
	p.mu.Unlock()
	_ = p.cmd.Process.Kill() // already gone is as well
	select {
	case <-p.gone:
	case <-time.After(killWait):
		s.Unkillable = true
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	return &s
}

func (p *process) result(task string) error {
	if p.err == nil {
		return nil
	}
	if said := strings.TrimSpace(p.stderr.String()); said != "" {
		var exit *exec.ExitError
		if errors.As(p.err, &exit) && exit.Exited() {
			return fmt.Errorf("%s: %s", task, said)
		}
		return fmt.Errorf("%s: %w: %s", task, p.err, said)
	}
	return fmt.Errorf("%s: %w", task, p.err)
}

// A tail keeps the last of what was written to it.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(b)
	if over := t.b.Len() - tailSize; over > 0 {
		t.b.Next(over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
