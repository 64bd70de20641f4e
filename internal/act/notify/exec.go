package notify

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// hook runs a program of the operator: the delivery as JSON on its standard input, the
// main facts in its environment, no shell between. Exit status 0 means delivered, 75
// (EX_TEMPFAIL) that everything should wait, any other that this delivery failed.
type hook struct {
	ch *Channel
}

const tempFail = 75

func newExec(e *env) sender { return &hook{e.ch} }

func (h *hook) send(ctx context.Context, b *batch, _ *secrets) error {
	cmd := exec.CommandContext(ctx, h.ch.Command[0], h.ch.Command[1:]...)
	cmd.Stdin = bytes.NewReader(deliveryOf(b, h.ch.Language))
	cmd.Env = h.environ(b)
	cmd.Dir = "/"
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	ownGroup(cmd) // what the hook started ends with it
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return failf(tryLater, "hook did not end in time and was killed%s", excerpt(out.b))
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it ended with 0; something that it left running held its output
	case !errors.As(err, &exit):
		return failf(misconfigured, "start hook: %v", err)
	case exit.ExitCode() == tempFail:
		return failf(tryLater, "hook ended with %d%s", tempFail, excerpt(out.b))
	}
	return failf(refused, "hook ended with %s%s", exit.ProcessState, excerpt(out.b))
}

// environ is small on purpose: the daemon's own environment may hold secrets of other
// channels.
func (h *hook) environ(b *batch) []string {
	n := b.Notices[len(b.Notices)-1]
	m := compose(b, h.ch.Language)
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"GPUMEDIC_SCHEMA=" + Schema,
		"GPUMEDIC_KEY=" + b.Key,
		"GPUMEDIC_COUNT=" + strconv.Itoa(len(latest(b.Notices))),
		"GPUMEDIC_TITLE=" + m.Title,
		"GPUMEDIC_INCIDENT=" + strconv.FormatInt(n.Incident, 10),
		"GPUMEDIC_KIND=" + string(n.Kind),
		"GPUMEDIC_SEVERITY=" + n.Severity,
		"GPUMEDIC_FAULT=" + oneLine(n.Fault),
		"GPUMEDIC_NODE=" + oneLine(n.Subject.Node),
		"GPUMEDIC_GPU=" + oneLine(n.Subject.GPU.String()),
		"GPUMEDIC_ACTION=" + oneLine(n.Action),
		"GPUMEDIC_URL=" + oneLine(n.URL),
	}
	if n.Alert != nil {
		env = append(env, "GPUMEDIC_ALERT="+oneLine(n.Alert.Name))
	}
	for _, name := range h.ch.Environment {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// tail keeps the end of what a program writes.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	t.b = append(t.b, p...)
	if len(t.b) > most {
		t.b = append(t.b[:0], t.b[len(t.b)-most:]...)
	}
	return len(p), nil
}
