package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// journalIdle is how long journalctl may be silent before it is given up.
const journalIdle = 30 * time.Second

// openJournal reads a binary journal through journalctl, which knows all versions of
// the format. A journal that is no file by a name that journalctl takes is copied.
func openJournal(in Input, l *layers, idle time.Duration) (io.ReadCloser, error) {
	program, err := exec.LookPath("journalctl")
	if err != nil {
		return nil, unreadable{formJournal, "there is no journalctl here, so on a machine that has it: journalctl --file FILE -o export > FILE.export"}
	}
	j := &journal{idle: idle}
	name := in.Path
	if !in.file || l.depth > 0 || !journalName(name) {
		f, _, err := spoolNamed(l.r, "gpumedic-*.journal", maxSpool)
		if err != nil {
			return nil, err
		}
		name = f.Name()
		f.Close()
		j.temp = name
	}
	if name, err = filepath.Abs(name); err == nil {
		err = j.start(program, name)
	}
	if err != nil {
		j.clean()
		return nil, inputError("is a systemd journal, and journalctl could not be started: " + err.Error())
	}
	return j, nil
}

func journalName(p string) bool {
	return strings.HasSuffix(p, ".journal") || strings.HasSuffix(p, ".journal~")
}

// journal is journalctl at work.
type journal struct {
	cmd  *exec.Cmd
	out  io.ReadCloser
	said headBuffer // on standard error
	temp string
	idle time.Duration
	late atomic.Bool
	got  bool
	end  error
}

func (j *journal) start(program, file string) error {
	// The option takes a pattern.
	file = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(file)
	j.cmd = exec.Command(program, "--file="+file, "--output=export", "--no-pager", "--quiet")
	j.cmd.Env = append(os.Environ(), "SYSTEMD_COLORS=0", "SYSTEMD_LOG_LEVEL=err", "LC_ALL=C")
	j.cmd.Stderr = &j.said
	j.cmd.WaitDelay = time.Second
	var err error
	if j.out, err = j.cmd.StdoutPipe(); err != nil {
		return err
	}
	return j.cmd.Start()
}

// Read waits only so long: a journal on a dead mount would hang us with it. The
// clock stands still while nobody reads.
func (j *journal) Read(p []byte) (int, error) {
	if j.end != nil {
		return 0, j.end
	}
	t := time.AfterFunc(j.idle, func() {
		j.late.Store(true)
		_ = j.cmd.Process.Kill()
	})
	n, err := j.out.Read(p)
	t.Stop()
	j.got = j.got || n > 0
	if err != nil {
		j.end = j.ended(err)
		err = j.end
	}
	return n, err
}

func (j *journal) ended(err error) error {
	wait := j.cmd.Wait()
	why := strings.TrimSpace(j.said.String())
	switch {
	case j.late.Load():
		return inputError(fmt.Sprintf("journalctl said nothing for %v and was ended: the journal is read up to there", j.idle))
	case !errors.Is(err, io.EOF):
		return err
	case wait != nil && why != "":
		return inputError("journalctl could not read the journal: " + why)
	case wait != nil:
		return inputError("journalctl could not read the journal: " + wait.Error())
	case !j.got && why != "":
		return inputError("journalctl gave nothing: " + why)
	}
	return io.EOF
}

func (j *journal) Close() error {
	if j.end == nil {
		_ = j.cmd.Process.Kill()
		_ = j.cmd.Wait()
		j.end = io.ErrClosedPipe
	}
	j.clean()
	return nil
}

func (j *journal) clean() {
	if j.temp != "" {
		_ = os.Remove(j.temp)
		j.temp = ""
	}
}

// headBuffer keeps the start of what a program says, in one line.
type headBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (t *headBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 300 - len(t.b); room > 0 {
		t.b = append(t.b, p[:min(len(p), room)]...)
	}
	return len(p), nil
}

func (t *headBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.b)), " ")
}
