package watch

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// use is who is on a GPU, as the driver says.
type use struct {
	gpu   gpumedic.GPU
	count int   // processes; -1: not known
	pids  []int // of those that have a number here
	busy  bool  // it computes
}

// usesOf reads the use of all GPUs.
func usesOf(sets []section.Readings) []use {
	var out []use
	at := map[string]int{}
	for i := range sets {
		s := &sets[i]
		pci := s.Subject.GPU.PCI
		if pci == "" || s.Subject.Process.PID != 0 || s.Values["process.pid"].Value != "" || s.Values["mig.uuid"].Value != "" {
			continue
		}
		u := use{gpu: s.Subject.GPU}
		for _, key := range []string{"processes.compute", "processes.graphics", "processes.mps"} {
			switch n, err := strconv.Atoi(s.Values[key].Value); {
			case err == nil && u.count >= 0:
				u.count += n
			case key == "processes.compute": // the one that every driver tells
				u.count = -1
			}
		}
		load, err := strconv.ParseFloat(s.Values["utilization.gpu.percent"].Value, 64)
		u.busy = err == nil && load > 0
		at[pci] = len(out)
		out = append(out, u)
	}
	for i := range sets {
		s := &sets[i]
		pid := s.Subject.Process.PID
		if n, err := strconv.Atoi(s.Values["process.pid"].Value); err == nil {
			pid = n
		}
		if n, known := at[s.Subject.GPU.PCI]; known && pid != 0 {
			out[n].pids = append(out[n].pids, pid)
		}
	}
	return out
}

// descends reports whether a process is the daemon's own or one of its descendants.
func (d *Daemon) descends(pid int) bool {
	for range 16 {
		switch {
		case pid == os.Getpid():
			return true
		case pid <= 1:
			return false
		}
		b, err := os.ReadFile(filepath.Join(d.proc(), strconv.Itoa(pid), "stat"))
		if err != nil {
			return false
		}
		// The name is in brackets and may hold anything.
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(f) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(f[1]); err != nil {
			return false
		}
	}
	return false
}

// jobEvery is how often is looked for processes that come to a GPU under test; jobStays is
// after how many looks one counts that opened the device without CUDA's own (nvidia-smi
// does, for a moment).
const (
	jobEvery = 250 * time.Millisecond
	jobStays = 8
)

// awaitJob calls a function when a process comes to the GPUs that was not there before.
// It looks at open files: the driver lists a program only when it has a context.
func (d *Daemon) awaitJob(ctx context.Context, before map[int]bool, came func()) {
	seen := map[int]int{}
	tick := time.NewTicker(jobEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for pid, cuda := range d.onDevices() {
			if _, old := before[pid]; old || d.descends(pid) {
				continue
			}
			if seen[pid]++; cuda || seen[pid] >= jobStays {
				came()
				return
			}
		}
	}
}

// onDevices are the processes that have a GPU open, and whether with CUDA's memory device.
func (d *Daemon) onDevices() map[int]bool {
	out := map[int]bool{}
	entries, err := os.ReadDir(d.proc())
	if err != nil {
		return out
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(d.proc(), e.Name(), "fd")
		files, err := os.ReadDir(dir)
		if err != nil {
			continue // it ended, or is not ours to see
		}
		gpu, cuda := false, false
		for _, f := range files {
			to, err := os.Readlink(filepath.Join(dir, f.Name()))
			name, ours := strings.CutPrefix(to, "/dev/nvidia")
			if err != nil || !ours || name == "" {
				continue
			}
			gpu = gpu || name[0] >= '0' && name[0] <= '9'
			cuda = cuda || strings.HasPrefix(name, "-uvm")
		}
		if gpu {
			out[pid] = cuda
		}
	}
	return out
}

// readArchive gives the files of a test's archive by their base names.
func readArchive(path string) (map[string][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	const most = 64 << 20 // of all files: the records of a broken card are some MiB
	out, left := map[string][]byte{}, int64(most)
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(t, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(b)); left < 0 {
			return nil, fmt.Errorf("more than %d bytes", most)
		}
		out[filepath.Base(h.Name)] = b
	}
}

// prune keeps the newest archives of tests.
func prune(dir string, keep int) {
	list, err := filepath.Glob(filepath.Join(dir, "memtest-*.tar.gz"))
	if err != nil {
		return
	}
	when := func(path string) string { return path[strings.LastIndexByte(path, '-')+1:] }
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(when(a), when(b)) })
	for _, path := range list[:max(0, len(list)-keep)] {
		_ = os.Remove(path) // it is tried again after the next test
	}
}
