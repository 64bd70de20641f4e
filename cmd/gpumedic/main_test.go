package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/cuda/cudafake"
	"github.com/gpumedic/gpumedic/internal/golden"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Arg { // a child of the program under test has the binary's own name
		main()
	}
	if filepath.Base(os.Args[0]) != "gpumedic" { // the tests, not a command of a script
		if status, ok := cudafake.Main("libnvidia-ml.so.1=../../internal/probe/gpu/testdata/fake/nvml.c"); ok {
			os.Exit(status)
		}
	}
	testscript.Main(m, map[string]func(){"gpumedic": main})
}

// TestScripts runs the real program: one script a behaviour.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       golden.Updating(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			wd, err := os.Getwd()
			if err != nil {
				return err
			}
			e.Setenv("REPO", wd+"/../..")
			e.Setenv("LANG", "C")
			e.Setenv("LC_ALL", "")
			e.Setenv("FAKE", cudafake.Dir()) // the fake drivers' place
			e.Setenv("TZ", "UTC")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "fakecuda" {
				return cudafake.Present(), nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   status,
			"longline": longline,
			"gzipped":  gzipped,
			"junk":     junk,

			"observe":   observe,
			"inventory": inventory,
			"repair":    repair,
		},
	})
}

// status STATUS ARGS...: gpumedic ends with this status. Output is kept for stdout and
// stderr assertions.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: status STATUS ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("gpumedic", args[1:]...)
	got := 0
	if err != nil {
		e, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("run gpumedic: %v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("gpumedic %v ended with %d, want %d", args[1:], got, want)
	}
}

// longline FILE BYTES TAIL: a file of one line of that many bytes, then TAIL and a newline.
func longline(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = 'x'
	}
	for n > 0 {
		m := min(n, int64(len(block)))
		_, err := f.Write(block[:m])
		ts.Check(err)
		n -= m
	}
	_, err = f.WriteString("\n" + args[2] + "\n")
	ts.Check(err)
	ts.Check(f.Close())
}

// gzipped FROM TO [CUT]: compresses a file; CUT drops so many bytes at the end.
func gzipped(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(z.Close())
	if len(args) > 2 {
		cut, err := strconv.ParseInt(args[2], 10, 64)
		ts.Check(err)
		st, err := f.Stat()
		ts.Check(err)
		ts.Check(f.Truncate(st.Size() - cut))
	}
	ts.Check(f.Close())
}

// junk FILE: bytes that are no text.
func junk(ts *testscript.TestScript, _ bool, args []string) {
	b := make([]byte, 1<<16)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}
