// Package host takes the readings of a machine that need no NVIDIA library: the PCI bus,
// the kernel modules and services of the driver, who holds the devices, memory, limits,
// file systems, network ports, the kernel log and the container around us.
//
// Everything is read below one root path, so that a recorded tree of /proc, /sys and
// /etc gives the readings of the machine it came from. A read of a broken device can
// block inside the kernel: each has a deadline, one that does not return is reported as
// probe.timeout, and nothing more is asked of that device.
//
//	Probe ──► pci      GPUs, NVSwitches and the ports above them
//	      ──► driver   modules, libraries, device files, services, branch
//	      ──► holders  processes with /dev/nvidia* open
//	      ──► machine  memory, limits, file systems, EDAC, InfiniBand
//	      ──► view     what a container lets us see
package host

import (
	"context"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/probe"
)

// Options of a probe.
type Options struct {
	Root  string    // the tree to read below, live or recorded; "" is "/"
	Quick bool      // leave out what may take long: programs, samples over time
	Now   time.Time // the date for the driver branch's end of life; zero leaves that out
	PIDs  []int     // processes whose limits to read too
	// NoHolders leaves out who holds the devices: that walks through all processes.
	NoHolders bool

	// Exec runs a program and gives its standard output; nil runs none.
	Exec func(ctx context.Context, name string, args ...string) ([]byte, error)
	// Tables names driver branches and CUDA floors; nil leaves those readings out.
	Tables *catalog.TableSet
	// Guard remembers reads that never returned, for a program that probes again and
	// again; nil starts afresh.
	Guard *Guard
	// ReadTimeout bounds one read; zero is 500 ms.
	ReadTimeout time.Duration
}

// Probe writes the readings of the machine. What can't be read is in the document as
// absent or unknown; the error is that of writing or of the context.
func Probe(ctx context.Context, w *probe.Writer, o Options) error {
	h := newProber(ctx, w, o)
	for _, part := range []func(){
		h.node, h.view, h.driver, h.branch, h.services,
		h.pci, h.holders, h.memory, h.limits, h.mounts, h.ib, h.timeouts,
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		part()
	}
	return w.Err()
}

// prober is the state of one Probe.
type prober struct {
	tree
	Options
	w *probe.Writer

	subject [2]string // what the readings are about just now
	uptime  float64   // seconds, 0 when unknown
	outside bool      // not in a container
	module  string    // version of the loaded kernel module
	loaded  bool      // the kernel module is loaded
	late    []late    // reads that did not return
	isGPU   map[string]bool
}

func newProber(ctx context.Context, w *probe.Writer, o Options) *prober {
	h := &prober{Options: o, w: w, isGPU: map[string]bool{}}
	h.tree = newTree(ctx, o)
	h.tree.late = func(l late) {
		if !slices.ContainsFunc(h.late, func(o late) bool { return o.path == l.path }) {
			h.late = append(h.late, l)
		}
	}
	return h
}

// about begins the readings of a subject, unless they have begun.
func (h *prober) about(kind, name string) {
	if subject := [2]string{kind, name}; subject != h.subject {
		h.subject = subject
		h.w.Subject(kind, name)
	}
}

// timeouts writes which reads did not return, under the device they were about.
func (h *prober) timeouts() {
	for _, l := range h.late {
		kind, name := l.subject(h.isGPU)
		h.about(kind, name)
		if kind == "mount" {
			continue // the unknown figures of the file system say it
		}
		note := "no answer in " + l.after.String()
		if l.after == 0 {
			note = "no answer since an earlier check"
		}
		h.w.Noted("probe.timeout", l.path, note)
		if l.after > 0 {
			h.w.Value("probe.timeout.seconds", l.after.Seconds())
		}
	}
}
