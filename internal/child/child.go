// Package child runs work that can hang for ever inside a driver in a process of its
// own: the same binary, started with a task's name. The parent keeps the clock. A child
// that stops answering is killed; one that cannot even be killed (it sleeps inside the
// kernel) is given up on, described from /proc, and never joined by a second one.
//
//	parent ── stdin (life line: closed when the parent goes) ──► child
//	parent ◄─ stdout (the task's answer)                      ── child
//	parent ◄─ fd 3 (marks: the call that begins now)          ── child
package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Arg is the first argument of a child; the task's name and its arguments follow.
const Arg = "__child"

// A Task is what a child runs. It writes its answer to c.Out and marks each driver call
// with c.Call before it makes it.
type Task func(ctx context.Context, c *Context) error

// Context is a task's side of the arrangement.
type Context struct {
	Args []string
	Out  io.Writer

	mu    sync.Mutex
	marks io.Writer
}

// Call marks that the named driver call begins: if it never returns, the parent reports
// it by this name. Each mark also tells the parent that the child is alive.
func (c *Context) Call(name string) {
	if c.marks == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.marks, name+"\n") // a parent that has gone needs no mark
}

// Main runs the task that args names, in a process that [Runner.Run] started, and gives
// the exit status. args are those after Arg.
func Main(ctx context.Context, tasks map[string]Task, args []string) int {
	if len(args) == 0 || tasks[args[0]] == nil {
		fmt.Fprintf(os.Stderr, "gpumedic: error: run child: no task %q\n", args)
		return 64
	}
	c := &Context{Args: args[1:], Out: os.Stdout}
	if os.Getenv(envMarks) != "" {
		c.marks = os.NewFile(3, "marks")
		// The parent holds the other end of stdin open for as long as it lives.
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	if err := tasks[args[0]](ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// envMarks tells a child that a parent listens on fd 3.
const envMarks = "GPUMEDIC_CHILD"

// ErrStuck is in the error of Run when the child did not answer in time.
var ErrStuck = errors.New("no answer in time")

// readMarks calls mark for each line until r ends.
func readMarks(r io.Reader, mark func(string)) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		mark(s.Text())
	}
}
