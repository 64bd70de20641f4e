package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A journal with one line of the kernel, packed since journals are mostly holes.
func unpackedJournal(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/one-xid.journal.gz")
	if err != nil {
		t.Fatal(err)
	}
	in := FromBytes("x", data)
	rc, _ := in.open()
	l, err := unpack(rc, 4096)
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := spool(l.r, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := make([]byte, 8<<20)
	n, _ := f.Read(out)
	return out[:n]
}

// The real journalctl: a journal as it is, under odd names, packed, in an archive.
func TestJournal(t *testing.T) {
	if _, err := exec.LookPath("journalctl"); err != nil {
		t.Skip("there is no journalctl here")
	}
	data := unpackedJournal(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	check := func(in Input) {
		t.Helper()
		got, r, _ := readAll(t, in, Options{})
		if !strings.Contains(got, "MESSAGE=NVRM: Xid (PCI:0000:3b:00): 79") || r.Kind() != KindJournal || len(r.Problems()) != 0 {
			t.Errorf("%s: kind %s, problems %q, text %.60q", in.Name, r.Kind(), r.Problems(), got)
		}
		r.Close()
	}
	for _, name := range []string{"system.journal", "sys [a]*?.journal", "system@1~2.journal~", "--help.journal", "copy.bin", "j.journal.zst"} {
		d := data
		if strings.HasSuffix(name, ".zst") {
			d = pack(t, "zstd", data)
		}
		for _, in := range expandBytes(t, name, d, nil) {
			check(in)
		}
	}
	ins := expandBytes(t, "logs.tgz", gz(string(tarOf(t, item{"a.log", "a"}, item{"var/log/journal/system.journal", string(data)}))), nil)
	check(ins[1])
	check(FromBytes("x", data))
	if left, _ := filepath.Glob(filepath.Join(tmp, "gpumedic-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	_, r, _ := readAll(t, expandBytes(t, "bad.journal", append([]byte("LPKSHHRH"), make([]byte, 5000)...), nil)[0], Options{})
	if !r.Incomplete() || !strings.Contains(strings.Join(r.Problems(), ";"), "journalctl") {
		t.Errorf("damaged: problems %q", r.Problems())
	}
}

// A journalctl that misbehaves, and none at all.
func TestJournalProgram(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh to play journalctl")
	}
	bin := t.TempDir()
	old := os.Getenv("PATH")
	play := func(script string) Input {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+string(os.PathListSeparator)+old)
		return expandBytes(t, "system.journal", []byte("LPKSHHRH and more"), nil)[0]
	}
	if got := summary(t, []Input{play("echo __REALTIME_TIMESTAMP=1; echo 'MESSAGE=x'")}); got != "system.journal=__REALTIME_TIMESTAMP=1\nMESSAGE=x" {
		t.Error(got)
	}
	if got := summary(t, []Input{play("echo __REALTIME_TIMESTAMP=1; echo 'file is truncated' >&2; exit 1")}); !strings.Contains(got, "=1!journalctl could not read the journal: file is truncated") {
		t.Error(got)
	}
	if got := summary(t, []Input{play("exit 3")}); !strings.Contains(got, "exit status 3") {
		t.Error(got)
	}
	// It hangs: what it gave is kept.
	in := play("echo __REALTIME_TIMESTAMP=1; exec sleep 60")
	rc, err := openJournal(in, &layers{}, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, err := rc.Read(b)
	if err != nil || n == 0 {
		t.Errorf("first read: %d bytes, %v", n, err)
	}
	if _, err = rc.Read(b); err == nil || !strings.Contains(err.Error(), "said nothing for 300ms and was ended") {
		t.Errorf("hang: %v", err)
	}
	rc.Close()
	// Closed early: it is ended with us.
	r := play("while :; do echo MESSAGE=x; done").Open(Options{})
	if _, err := r.Next(); err != nil {
		t.Error(err)
	}
	r.Close()
	// None.
	t.Setenv("PATH", t.TempDir())
	if got := summary(t, expandBytes(t, "system.journal", []byte("LPKSHHRH and more"), nil)); !strings.Contains(got, "there is no journalctl here") || !strings.Contains(got, "journalctl --file") {
		t.Error(got)
	}
}
