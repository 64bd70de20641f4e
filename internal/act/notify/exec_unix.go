//go:build unix

package notify

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program in a process group of its own and kills the whole of it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
