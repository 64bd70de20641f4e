//go:build e2e

// Package slurm runs gpumedic under a real Slurm: slurmctld and slurmd on this machine,
// with the prolog and the health check of deploy/slurm. It needs root, and the Debian
// packages slurm-wlm and munge; without them it skips and says so.
package slurm

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A cluster is one controller and one node with two fake GPUs.
type cluster struct {
	t    *testing.T
	dir  string
	env  []string
	slow time.Duration
}

func start(t *testing.T) *cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("slurmd must run as root")
	}
	for _, tool := range []string{"slurmctld", "slurmd", "munged", "sbatch", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian: slurm-wlm, munge, gcc)", tool)
		}
	}
	c := &cluster{t: t, dir: t.TempDir(), slow: 60 * time.Second}
	must(t, os.Chmod(c.dir, 0o755))
	for d := c.dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) { // munged refuses a closed path
		must(t, os.Chmod(d, 0o755))
	}
	bin := filepath.Join(c.dir, "bin")
	must(t, os.Mkdir(bin, 0o755))
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "gpumedic"), "../../cmd/gpumedic")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	fake := filepath.Join(c.dir, "libnvidia-ml.so.1")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", fake, probeData+"/fake/nvml.c").CombinedOutput(); err != nil {
		t.Fatalf("build the fake driver library: %v\n%s", err, out)
	}
	c.munge()
	c.configure(bin)
	c.daemon("slurmctld", "-D", "-i", "-f", c.path("slurm.conf"))
	c.daemon("slurmd", "-D", "-N", "n1", "-f", c.path("slurm.conf"))
	c.until("the node is idle", func() bool { return c.state() == "idle" })
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// munge starts an own authentication daemon with an own key.
func (c *cluster) munge() {
	u, err := user.Lookup("munge")
	if err != nil {
		c.t.Skip("no user munge (Debian: munge)")
	}
	uid, gid := number(u.Uid), number(u.Gid)
	dir := c.path("munge")
	must(c.t, os.Mkdir(dir, 0o755))
	must(c.t, os.WriteFile(filepath.Join(dir, "key"), bytes.Repeat([]byte("k1"), 64), 0o400))
	must(c.t, os.Chown(dir, uid, gid))
	must(c.t, os.Chown(filepath.Join(dir, "key"), uid, gid))
	cmd := exec.Command("munged", "--foreground", "--force", "--socket="+filepath.Join(dir, "socket"), "--key-file="+filepath.Join(dir, "key"),
		"--log-file="+filepath.Join(dir, "log"), "--pid-file="+filepath.Join(dir, "pid"), "--seed-file="+filepath.Join(dir, "seed"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	c.run(cmd)
	c.until("munge answers", func() bool { _, err := os.Stat(filepath.Join(dir, "socket")); return err == nil })
}

func (c *cluster) configure(bin string) {
	host, err := os.Hostname()
	must(c.t, err)
	ctl, node := freePort(c.t), freePort(c.t)
	for i := range 2 { // slurmd wants device files to exist
		must(c.t, syscall.Mknod(c.path(fmt.Sprintf("nvidia%d", i)), syscall.S_IFCHR|0o666, 1<<8|3))
	}
	// The scripts of deploy/slurm, with the surroundings that an administrator would give.
	for name, script := range map[string]string{"prolog.sh": "prolog.sh", "health.sh": "healthcheck.sh"} {
		body, err := os.ReadFile(filepath.Join("../../deploy/slurm", script))
		must(c.t, err)
		env := fmt.Sprintf("#!/bin/sh\nexport SLURM_CONF=%s\n. %s\n", c.path("slurm.conf"), c.path("expect"))
		text := strings.Replace(string(body), "PATH=/usr/local/bin:", "PATH="+bin+":/usr/local/bin:", 1)
		must(c.t, os.WriteFile(c.path(name), []byte(env+strings.TrimPrefix(text, "#!/bin/sh\n")), 0o755))
	}
	c.gpus("healthy")
	conf := fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[4]s/munge/socket
CredType=cred/munge
StateSaveLocation=%[4]s/state
SlurmdSpoolDir=%[4]s/spool
SlurmctldPidFile=%[4]s/ctl.pid
SlurmdPidFile=%[4]s/d.pid
SlurmctldLogFile=%[4]s/ctl.log
SlurmdLogFile=%[4]s/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
GresTypes=gpu
ReturnToService=0
Prolog=%[4]s/prolog.sh
HealthCheckProgram=%[4]s/health.sh
HealthCheckInterval=2
HealthCheckNodeState=ANY
NodeName=n1 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[3]d CPUs=1 Gres=gpu:2
PartitionName=all Nodes=n1 Default=YES MaxTime=10 State=UP
`, host, ctl, node, c.dir)
	must(c.t, os.Mkdir(c.path("state"), 0o700))
	must(c.t, os.Mkdir(c.path("spool"), 0o755))
	must(c.t, os.WriteFile(c.path("slurm.conf"), []byte(conf), 0o644))
	must(c.t, os.WriteFile(c.path("gres.conf"), []byte(fmt.Sprintf("NodeName=n1 Name=gpu File=%s/nvidia[0-1]\n", c.dir)), 0o644))
	c.env = append(os.Environ(), "SLURM_CONF="+c.path("slurm.conf"))
}

// probeData holds the fake driver library and its scenarios.
const probeData = "../../internal/probe/gpu/testdata"

// gpus sets what the fake driver says of the node's eight GPUs.
func (c *cluster) gpus(scenario string) {
	file, err := filepath.Abs(filepath.Join(probeData, "scenarios", scenario+".txt"))
	must(c.t, err)
	// The machine's own kernel log is not the fake GPUs'.
	env := fmt.Sprintf("export GPUMEDIC_FLAGS='--kernel-window 1ms' GPUMEDIC_EXPECT=8 LD_LIBRARY_PATH=%s NVML_FAKE=%s\n", c.dir, file)
	must(c.t, os.WriteFile(c.path("expect.new"), []byte(env), 0o644))
	must(c.t, os.Rename(c.path("expect.new"), c.path("expect")))
}

func (c *cluster) daemon(name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Env = c.env
	c.run(cmd)
}

func (c *cluster) run(cmd *exec.Cmd) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(c.t, cmd.Start())
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
		if c.t.Failed() {
			c.t.Logf("%s: %s", cmd.Path, out.String())
		}
	})
}

func (c *cluster) slurm(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = c.env, c.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func (c *cluster) state() string {
	return strings.TrimRight(c.slurm("sinfo", "-h", "-n", "n1", "-o", "%T"), "*$~#")
}
func (c *cluster) reason() string { return c.slurm("sinfo", "-h", "-n", "n1", "-o", "%E") }

func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(c.slow); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if ok() {
			return
		}
	}
	ctl, _ := os.ReadFile(c.path("ctl.log"))
	d, _ := os.ReadFile(c.path("d.log"))
	c.t.Fatalf("waited %s: not so: %s; state %q, reason %q\n%s\n%s", c.slow, what, c.state(), c.reason(), ctl, d)
}

// TestPrologAndHealthCheck: a job runs on a fit node; on one that is not fit the health
// check drains it with our reason; a prolog that finds it unfit lets no job start.
func TestPrologAndHealthCheck(t *testing.T) {
	c := start(t)
	submit := func(name string) string {
		return c.slurm("sbatch", "--parsable", "--gres=gpu:1", "-o", c.path(name+".out"), "--wrap", "echo ran on $SLURM_JOB_GPUS")
	}
	first := submit("first")
	if first == "" {
		t.Fatal("sbatch refused the job")
	}
	c.until("the job on a fit node has run", func() bool {
		out, err := os.ReadFile(c.path("first.out"))
		return err == nil && strings.Contains(string(out), "ran on")
	})
	// From now on one GPU does not answer any more.
	c.gpus("lost")
	c.until("the health check drained the node", func() bool { return strings.HasPrefix(c.state(), "drain") })
	if r := c.reason(); !strings.Contains(r, "gpumedic: GPU CRITICAL") || !strings.Contains(r, "bus") {
		t.Errorf("reason %q", r)
	}
	// Fit again, and a person resumes the node: the next job runs.
	c.gpus("healthy")
	c.slurm("scontrol", "update", "nodename=n1", "state=resume")
	submit("second")
	c.until("the job after the repair has run", func() bool { _, err := os.Stat(c.path("second.out")); return err == nil })
	// The prolog alone: it stops the job before it starts.
	must(t, os.WriteFile(c.path("health.sh"), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	time.Sleep(3 * time.Second) // a health check that runs already may still end
	c.slurm("scontrol", "update", "nodename=n1", "state=resume")
	c.gpus("remap-failed")
	submit("third")
	c.until("the prolog drained the node", func() bool { return strings.HasPrefix(c.state(), "drain") })
	if out, _ := os.ReadFile(c.path("third.out")); strings.Contains(string(out), "ran on") {
		t.Errorf("a job ran on a node that is not fit: %s", out)
	}
	if r := c.reason(); !strings.Contains(r, "gpumedic: GPU CRITICAL") || !strings.Contains(r, "remap") {
		t.Errorf("reason %q", r)
	}
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
