package main

import (
	"fmt"
	"io"
	"time"

	"github.com/gpumedic/gpumedic/internal/scan"
)

// progress is one line on a terminal that is rewritten while a scan runs, and nothing
// elsewhere. It appears only when the work takes longer than a moment.
type progress struct {
	w     io.Writer
	tty   bool
	start time.Time
	last  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	tty, _ := terminal(w)
	now := time.Now()
	return &progress{w: w, tty: tty, start: now, last: now}
}

func (p *progress) show(s scan.Progress) {
	now := time.Now()
	if !p.tty || now.Sub(p.start) < 500*time.Millisecond || now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	rate := float64(s.Bytes) / now.Sub(p.start).Seconds() / 1e6
	fmt.Fprintf(p.w, "\r\x1b[K%s  %.1f MB read, %.0f MB/s, %d signals", s.Name, float64(s.Bytes)/1e6, rate, s.Signals)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
