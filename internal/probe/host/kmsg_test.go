package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/source"
)

// kmsgRecords is what /dev/kmsg gives on a node that lost a GPU; the first number of each
// record is facility times eight plus level.
const kmsgRecords = `6,0,0,-;Linux version 6.8.0-79-generic (buildd@x) #79-Ubuntu SMP
6,812,5140900,-;nvidia 0000:1b:00.0: enabling device (0140 -> 0142)
 SUBSYSTEM=pci
 DEVICE=+pci:0000:1b:00.0
30,1203,9000000,-;systemd[1]: Started NVIDIA Persistence Daemon.
4,90211,86400250000,c;NVRM: GPU at PCI:0000:1b:00: GPU-0b7c2a51-1111-2222-3333-444455556666
4,90212,86400250100,-;NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
`

func kernelTree(t *testing.T, log string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"dev/kmsg": log, "proc/stat": "btime 1764547200\n", "proc/sys/kernel/hostname": "gpu-node-7\n",
	} {
		must(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	return root
}

func TestKernelLog(t *testing.T) {
	log, err := KernelLog(t.Context(), kernelTree(t, kmsgRecords))
	must(t, err)
	want := []string{
		"2025-12-01T00:00:00.000000+00:00 gpu-node-7 kernel: Linux version",
		"2025-12-01T00:00:05.140900+00:00 gpu-node-7 kernel: nvidia 0000:1b:00.0: enabling",
		"2025-12-01T00:00:09.000000+00:00 gpu-node-7 systemd[1]: Started",
		"2025-12-02T00:00:00.250000+00:00 gpu-node-7 kernel: NVRM: GPU at",
		"2025-12-02T00:00:00.250100+00:00 gpu-node-7 kernel: NVRM: Xid",
	}
	got := strings.Split(strings.TrimSpace(string(log)), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines: %s", len(got), log)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d is %q, want %q", i+1, got[i], want[i])
		}
	}
}

// TestKernelLogIsRead: the scan reads the lines as the kernel's own, with their time.
func TestKernelLogIsRead(t *testing.T) {
	log, err := KernelLog(t.Context(), kernelTree(t, kmsgRecords))
	must(t, err)
	r := diagnose(t, map[string][]byte{"kernel.log": log})
	if len(r.Findings) == 0 || r.Findings[0].Fault != "gpu-fell-off-bus" || r.Findings[0].Subject.GPU.PCI != "0000:1b:00.0" {
		t.Fatalf("findings %+v", r.Findings)
	}
	if at, err := time.Parse(time.RFC3339Nano, r.Findings[0].FirstSeen); err != nil || !at.Equal(time.Date(2025, 12, 2, 0, 0, 0, 250100000, time.UTC)) {
		t.Errorf("first seen %v", r.Findings[0].FirstSeen)
	}
	// A program that writes the same words to the kernel's log is not the kernel.
	fake := strings.Replace(kmsgRecords, "4,90212,86400250100,-;", "14,90212,86400250100,-;logger[7]: ", 1)
	log, err = KernelLog(t.Context(), kernelTree(t, fake))
	must(t, err)
	for _, f := range diagnose(t, map[string][]byte{"kernel.log": log}).Findings {
		if f.Fault == "gpu-fell-off-bus" {
			t.Error("a quoted Xid was believed")
		}
	}
}

func TestKernelLogFallsBack(t *testing.T) {
	journal := "2025-12-01T00:00:00.000000+0000 gpu-node-7 kernel: Linux version 6.8\n"
	lost := strings.Replace(kmsgRecords, "6,0,0,-;", "6,400,0,-;", 1)
	for _, c := range []struct {
		name, kmsg string
		exec       map[string]string
		want, err  string
	}{
		{name: "complete: no program is asked", kmsg: kmsgRecords, exec: map[string]string{"journalctl": strings.Repeat(journal, 50)}, want: "2025-12-01T00:00:00.000000+00:00 gpu-node-7 kernel: Linux version"},
		{name: "the journal has more", kmsg: lost, exec: map[string]string{"journalctl": strings.Repeat(journal, 50)}, want: journal},
		{name: "the journal has less", kmsg: lost, exec: map[string]string{"journalctl": journal}, want: "-- 400 earlier records are no longer in the kernel's buffer --\n2025"},
		{name: "refused, journal", exec: map[string]string{"journalctl": journal}, want: journal},
		{name: "refused, dmesg", exec: map[string]string{"dmesg": "2025-12-01T00:00:00,000000+00:00 Linux version\n"}, want: "2025-12-01T00:00:00,000000+00:00"},
		{name: "refused", err: "read kernel log: no /dev/kmsg"},
	} {
		root := kernelTree(t, c.kmsg)
		if c.kmsg == "" {
			must(t, os.Remove(filepath.Join(root, "dev/kmsg")))
		}
		log, err := kernelLog(t.Context(), Options{Root: root, Exec: program(c.exec)})
		if fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
			t.Errorf("%s: error %v", c.name, err)
		}
		if !strings.HasPrefix(string(log), c.want) {
			t.Errorf("%s: %s", c.name, log)
		}
	}
}

// diagnose runs documents through the whole path.
func diagnose(t *testing.T, docs map[string][]byte) *gpumedic.Report {
	t.Helper()
	cat, err := catalog.Embedded()
	must(t, err)
	d, err := offline.New(cat)
	must(t, err)
	var in []source.Input
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		in = append(in, source.FromBytes(name, docs[name]))
	}
	r, err := d.Run(t.Context(), in, offline.Options{Lang: "en"})
	must(t, err)
	return r
}

// TestFindings: from a tree to the answer.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		tree, verdict string
		want          []string // faults that stand as more than incidental, in order
	}{
		{"hgx-idle", gpumedic.VerdictNoFault, nil},
		{"laptop", gpumedic.VerdictNoFault, nil},
		{"holders", gpumedic.VerdictNoFault, nil},
		{"upgraded", gpumedic.VerdictFault, []string{"driver-library-mismatch"}},
		{"no-module", gpumedic.VerdictFault, []string{"kernel-module-missing"}},
		{"fabric-manager-down", gpumedic.VerdictFault, []string{"fabric-manager-down"}},
		{"container", gpumedic.VerdictFault, []string{"container-gpu-access-lost"}},
	} {
		doc := document(t, Options{Root: shared(t, c.tree)})
		r := diagnose(t, map[string][]byte{"host.readings": []byte(doc)})
		var got []string
		for _, f := range r.Findings {
			if f.Role != gpumedic.RoleIncidental {
				got = append(got, f.Fault)
			}
		}
		if r.Verdict != c.verdict || !slices.Equal(got, c.want) {
			t.Errorf("%s: %s %q, want %s %q; unexplained %v", c.tree, r.Verdict, got, c.verdict, c.want, r.Unexplained)
		}
	}
}

// TestOnlyNotices: a counter that rose at some time is worth a look, not yet a fault.
func TestOnlyNotices(t *testing.T) {
	for tree, want := range map[string]bool{"sysfs-ib-h100.tar.gz": true, "fabric-manager-down": false} {
		var root string
		if want {
			root = unpack(t, tree)
		} else {
			root = shared(t, tree)
		}
		r := diagnose(t, map[string][]byte{"host.readings": []byte(document(t, Options{Root: root}))})
		if len(r.Findings) == 0 || r.Findings[0].OnlyNotices != want {
			t.Errorf("%s: %+v", tree, r.Findings)
		}
	}
}

func TestRecord(t *testing.T) {
	ran := 0
	o := Options{Root: shared(t, "hgx-idle"), Now: today, Exec: func(_ context.Context, name string, _ ...string) ([]byte, error) {
		if ran++; name == "lspci" {
			return []byte("1b:00.0 3D controller\n"), nil
		}
		return nil, errors.New("not found")
	}}
	got := Record(t.Context(), o)
	for _, name := range []string{"host.readings", "proc-driver-nvidia-version.txt", "proc-meminfo.txt", "lspci.txt"} {
		if len(got[name]) == 0 {
			t.Errorf("no %s", name)
		}
	}
	if _, ok := got["ibstat.txt"]; ok {
		t.Error("a program that failed left a file")
	}
	if !strings.Contains(string(got["proc-driver-nvidia-version.txt"]), "580.95.05") {
		t.Errorf("version: %s", got["proc-driver-nvidia-version.txt"])
	}
}

func TestCommandKeepsWithinMemory(t *testing.T) {
	out, err := Command(t.Context(), "sh", "-c", "echo out; echo why >&2; echo more >&2; exit 3")
	if string(out) != "out\n" || err == nil || !strings.HasSuffix(err.Error(), "exit status 3: why") {
		t.Errorf("%q, %v", out, err)
	}
	out, err = Command(t.Context(), "head", "-c", strconv.Itoa(maxLog+1), "/dev/zero")
	if len(out) != maxLog || err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}
