package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/check"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/verify"
)

type verifyFlags struct {
	storeFlags
	who     whoWhy
	quiet   time.Duration
	noWait  bool
	noTests bool
	close   bool
	terse   bool
}

func (c *cli) verifyCmd() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] ID",
		Short: "is the fault of an incident gone? The checks before it may close",
		Long: `verify reads the node again, waits until the fault has been quiet for a while,
and runs the active tests that the fault's entry names (a quick memtest for
faults of memory, bandwidth for links). What was read before and after is kept
with the incident. Only when all checks pass may the incident close.

A check that could not be made is unknown, and unknown is not passed. The number
of attempts after a repair is limited, so that a fault cannot be verified away.`,
		Example: `  gpumedic verify 7
  gpumedic verify 7 --quiet-for 30m --close
  gpumedic verify 7 --no-wait    # fail at once when not quiet long enough

exit status: 0 passed, 2 failed, 3 unknown, 64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.verify(cmd.Context(), &f, args) },
	}
	f.add(cmd)
	f.who.add(cmd)
	fl := cmd.Flags()
	fl.DurationVar(&f.quiet, "quiet-for", 5*time.Minute, "how long the fault must not have been told")
	fl.BoolVar(&f.noWait, "no-wait", false, "do not wait for that time to pass")
	fl.BoolVar(&f.noTests, "no-tests", false, "run no active test: their checks stay unknown")
	fl.BoolVar(&f.close, "close", false, "close the incident when all checks pass")
	fl.BoolVarP(&f.terse, "quiet", "q", false, "the result and the exit status")
	return cmd
}

func (c *cli) verify(ctx context.Context, f *verifyFlags, args []string) error {
	ids, err := incidentIDs(args, 1)
	if err != nil {
		return err
	}
	return c.writeStore(ctx, &f.storeFlags, func(s *store.Store, o show.Options) error {
		v := &verifier{c: c, f: f, s: s, o: o}
		return v.run(ctx, ids[0])
	})
}

// verifier runs the checks of one incident.
type verifier struct {
	c *cli
	f *verifyFlags
	s *store.Store
	o show.Options
}

func (v *verifier) run(ctx context.Context, id int64) error {
	i, err := v.s.Incident(ctx, id)
	if err != nil {
		return storeError(err)
	}
	if !i.Live() {
		return storeError(fmt.Errorf("verify incident %d: %w: it is closed", id, incident.ErrState))
	}
	started := time.Now()
	checks, err := v.checks(ctx, i)
	if err != nil {
		return err
	}
	_, err = v.s.Do(ctx, time.Now(), []int64{id}, func(st *incident.Step) error {
		if err := st.Verify(id, incident.Verification{Started: started, Checks: checks}, v.f.who.name()); err != nil {
			return err
		}
		if v.f.close && verify.Result(checks) == incident.Passed {
			return st.Close(id, false, v.f.who.name(), v.f.who.why)
		}
		return nil
	})
	if err != nil {
		return storeError(err)
	}
	result := verify.Result(checks)
	switch result {
	case incident.Failed:
		v.c.status = gpumedic.ExitFault
	case incident.Unknown:
		v.c.status = gpumedic.ExitUnknown
	}
	return v.write(ctx, id, result)
}

// checks are made in the order of what they cost; what fails ends them.
func (v *verifier) checks(ctx context.Context, i *incident.Incident) ([]incident.CheckResult, error) {
	n, err := v.read(ctx)
	if err != nil {
		return nil, err
	}
	list := []incident.CheckResult{verify.Readings(i, n, verify.Since(i))}
	if list[0].Result == incident.Failed {
		return list, nil
	}
	last := verify.Last(i, n)
	if wait := v.f.quiet - time.Since(last); wait > 0 && !v.f.noWait {
		v.say("waiting %s until it has been quiet for %s\n", "等待 %s，直至平静满 %s\n", wait.Round(time.Second), v.f.quiet)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, hinted{fmt.Errorf("verify incident %d: %w", i.ID, ctx.Err()), "nothing was recorded", gpumedic.ExitUnknown}
		}
		if n, err = v.read(ctx); err != nil {
			return nil, err
		}
		list[0] = verify.Readings(i, n, verify.Since(i))
		last = verify.Last(i, n)
		if again, err := v.s.Incident(ctx, i.ID); err == nil && again.Last.After(last) {
			last = again.Last // the daemon saw it
		}
	}
	kernel := true
	for _, note := range n.Notes {
		kernel = kernel && !strings.Contains(note, "kernel log was not read")
	}
	list = append(list, verify.Quiet(i, last, time.Now(), v.f.quiet, kernel))
	if verify.Result(list) == incident.Failed {
		return list, nil
	}
	for _, t := range verify.TestsFor(v.o.Catalog.Faults[i.Fault], i, v.o.Lang) {
		r, ok := v.test(ctx, t, i)
		if ok {
			list = append(list, r)
		}
	}
	return list, nil
}

// read is a full live check.
func (v *verifier) read(ctx context.Context) (*report.Node, error) {
	now := time.Now()
	snap := check.Collect(ctx, check.CollectOptions{
		ExpectGPUs: -1, Call: 5 * time.Second, Total: 30 * time.Second, Runner: &child.Runner{},
		Host: host.Options{Tables: v.o.Catalog.Tables()}, Now: now,
	})
	return check.Judge(ctx, v.o.Catalog, snap.Inputs(), check.Options{Lang: v.o.Lang, ExpectGPUs: -1, Live: true, Now: now, Window: 24 * time.Hour})
}

// test runs an active test of this program; ok is false for one that this version does
// not have: the entry's other checks stand then.
func (v *verifier) test(ctx context.Context, t verify.Test, i *incident.Incident) (incident.CheckResult, bool) {
	if _, missing := planned[t.Verb]; missing {
		v.say("%s is not part of this version: that check is left to you\n", "本版本不含 %s，该项检查需自行完成\n", t.Verb)
		return incident.CheckResult{}, false
	}
	args := []string{t.Verb, "--format", "json"}
	if t.Verb == "memtest" {
		args = append(args, "--quick")
	}
	if g := i.Subject.GPU; !g.IsZero() {
		args = append(args, "--gpu", strings.TrimPrefix(g.String(), "GPU "))
	}
	command := "gpumedic " + strings.Join(args, " ")
	if v.f.noTests {
		return incident.CheckResult{Check: t.Verb, Command: command, Result: incident.Unknown, Detail: "not run: --no-tests"}, true
	}
	v.say("running %s\n", "正在执行 %s\n", command)
	program, err := os.Executable()
	if err != nil {
		return incident.CheckResult{Check: t.Verb, Command: command, Result: incident.Unknown, Detail: err.Error()}, true
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = &said
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	status := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		status = gpumedic.ExitUnknown
		said.WriteString(err.Error())
	}
	detail := strings.Join(strings.Fields(said.String()), " ")
	return verify.Ran(t, command, status, detail[:min(len(detail), 300)]), true
}

// say tells a person who waits; standard output stays for the result.
func (v *verifier) say(en, zh string, args ...any) {
	if !v.f.terse && v.o.Format == "text" {
		fmt.Fprintf(v.c.err, lang.Pick(v.o.Lang, en, zh), args...)
	}
}

func (v *verifier) write(ctx context.Context, id int64, result string) error {
	if v.f.terse && v.o.Format == "text" {
		return v.c.deliver("", func(w io.Writer) error { _, err := fmt.Fprintln(w, result); return err })
	}
	one := &show.One{}
	var err error
	if one.Incident, err = v.s.Incident(ctx, id); err == nil {
		one.Events, err = v.s.Events(ctx, id)
	}
	if err == nil {
		one.Verifications, err = v.s.Verifications(ctx, id)
	}
	if err != nil {
		return storeError(err)
	}
	return v.c.deliver("", func(w io.Writer) error { return show.WriteOne(w, one, v.o) })
}
