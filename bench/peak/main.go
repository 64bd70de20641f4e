//go:build linux

// Command peak runs a command and prints, on standard error, how long it took and how much
// memory it had at most. bench/scan.sh uses it; it is no part of gpumedic.
//
//	go run ./bench/peak ./gpumedic diagnose --quiet big.log
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "peak: error: run command: none given")
		os.Exit(64)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		fmt.Fprintln(os.Stderr, "peak: error: run command:", err)
		os.Exit(1)
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Fprintf(os.Stderr, "  %8.2f s, %8.2f s of one processor, %6.1f MiB at most\n", time.Since(start).Seconds(),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), float64(u.Maxrss)/1024)
}
