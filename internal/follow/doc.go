// Package follow reads logs that go on: the kernel's records, the journal, files of jobs.
// A follower hands on whole lines in chunks, each with the position behind it, so that a
// reader who keeps position and conclusions together loses nothing and repeats nothing
// over a restart.
//
//	/dev/kmsg ─┐
//	journal   ─┼─► Chunk{lines, position behind them} ──► one reader
//	job logs  ─┘
//
// A reader that is slow slows the follower: nothing is queued without bound. What the
// kernel overwrites meanwhile is counted as lost, never passed over in silence.
package follow

import (
	"context"
	"sync"
	"time"
)

// A Chunk is some whole lines of one input, with their line feeds.
type Chunk struct {
	Input string // as evidence names it
	Text  []byte
	First int // number of the first line, from 1
	Lines int
	// Position is the follower's place behind this chunk, to be given back at the next
	// start.
	Position string
	// Lost is how many records are missing before this chunk.
	Lost uint64
	// At is when the first of its lines came in.
	At time.Time
}

// A Follower reads until its context ends. It returns an error only when it cannot go on;
// the caller may run it again.
type Follower interface {
	Run(ctx context.Context, position string, out chan<- Chunk) error
}

// MaxChunk bounds the text of one chunk, but for one longer line.
const MaxChunk = 256 << 10

// A gatherer makes chunks of lines that come one by one: one is sent when no further line
// came for Quiet, or when it is full.
type gatherer struct {
	quiet time.Duration
	out   chan<- Chunk

	mu    sync.Mutex
	chunk Chunk
	full  chan struct{}
	more  chan struct{}
}

func newGatherer(quiet time.Duration, out chan<- Chunk) *gatherer {
	return &gatherer{quiet: quiet, out: out, full: make(chan struct{}, 1), more: make(chan struct{}, 1)}
}

// add appends a line, waiting while the chunk is full. position is the place behind it.
func (g *gatherer) add(ctx context.Context, input string, number int, line []byte, position func() string, lost uint64) error {
	for {
		g.mu.Lock()
		c := &g.chunk
		if c.Lines == 0 || c.Input == input && len(c.Text) < MaxChunk && lost == 0 {
			break
		}
		g.mu.Unlock()
		select {
		case <-g.full: // it was taken
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c := &g.chunk
	if c.Lines == 0 {
		c.Input, c.First, c.At = input, number, time.Now()
	}
	c.Text = append(c.Text, line...)
	c.Lines++
	c.Lost += lost
	c.Position = position()
	g.mu.Unlock()
	select {
	case g.more <- struct{}{}:
	default:
	}
	return nil
}

// run sends chunks until the context ends.
func (g *gatherer) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.more:
		}
		for begun, seen := time.Now(), -1; ; { // until it is quiet, at most ten times so long
			n := g.size()
			if n == seen || n >= MaxChunk || time.Since(begun) >= 10*g.quiet {
				break
			}
			seen = n
			timer.Reset(g.quiet)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		g.mu.Lock()
		c := g.chunk
		g.chunk = Chunk{}
		g.mu.Unlock()
		select {
		case g.full <- struct{}{}:
		default:
		}
		if c.Lines == 0 {
			continue
		}
		select {
		case g.out <- c:
		case <-ctx.Done():
			return
		}
	}
}

func (g *gatherer) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.chunk.Text)
}
