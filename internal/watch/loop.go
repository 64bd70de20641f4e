package watch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/follow"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// loop owns the core. Everything that it shares is behind its mutex.
type loop struct {
	conf    *Config
	log     *slog.Logger
	now     func() time.Time
	core    *core
	store   *store.Store
	health  *health
	holders *holders
	boot    string

	logs     map[string]chan follow.Chunk // by source
	readings chan reading
	calls    chan func()        // what others want done here
	told     func(store.Result) // hears what an observation changed
	show     func()             // brings outlets up to date
	lean     func()             // gives memory back
	alerts   *alerts            // of the rules; nil: nobody wants them
	idle     *idleTests         // of GPUs that nobody uses

	continues bool
	saved     string    // the window as text, of the counters in savedAt
	savedAt   [3]uint64 // of window and readings
	written   [3]uint64 // savedAt of what is on the disk
	lastRead  time.Time // latest readings
	answered  time.Time // last answer
	observed  time.Time
	ticked    time.Time
	beat      time.Time // latest tick
	reloads   uint64    // of the store, that were told
	expired   time.Time
	pruned    time.Time
	begun     time.Time
	leaned    time.Time
	failing   bool            // the store cannot be written
	waiting   map[string]bool // sources that have not read yet
	inventory string

	mu        sync.Mutex
	positions map[string]string
	turned    time.Time // when the loop last went round
}

// windowCursor is under which name the store keeps the window.
const windowCursor = "window"

// Paces of the loop.
const (
	countsAfter  = time.Second
	figuresAfter = 5 * time.Minute
	// tickEvery: a tick comes with the readings of a second where there are some, so that
	// the process is woken once and not twice.
	tickEvery    = time.Second
	quietObserve = 5 * time.Second
	// fullObserve is how often an answer that did not change is told again: another
	// process may have written the store, so that counts that waited are to be said anew.
	fullObserve  = time.Minute
	leanAfter    = 20 * time.Second // the start is over
	leanEvery    = 30 * time.Second
	patienceLeft = 10 * time.Second // with sources that have not read yet
)

// run handles one thing after the other until the context ends.
func (l *loop) run(ctx context.Context) {
	tick := time.NewTimer(tickEvery)
	defer tick.Stop()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	l.begun = l.now()
	for {
		select {
		case <-ctx.Done():
			l.end()
			return
		case c := <-l.logs[sourceKernel]:
			l.take(ctx, sourceKernel, c)
		case c := <-l.logs[sourceJournal]:
			l.take(ctx, sourceJournal, c)
		case c := <-l.logs[sourceJobs]:
			l.take(ctx, sourceJobs, c)
		case r := <-l.readings:
			l.read(r)
			if now := l.now(); r.source == sourceGPUs && now.Sub(l.beat).Abs() >= tickEvery/2 {
				l.tick(ctx)
				tick.Reset(tickEvery + tickEvery/4)
			}
		case f := <-l.calls:
			f()
		case <-due.C:
			l.answer(ctx)
		case <-tick.C:
			l.tick(ctx)
			tick.Reset(tickEvery)
		}
		due.Reset(l.wait())
		l.mu.Lock()
		l.turned = l.now()
		l.mu.Unlock()
	}
}

// wait is how long the next answer has time.
func (l *loop) wait() time.Duration {
	if len(l.waiting) > 0 { // without the readings an answer might be another one
		return time.Hour
	}
	since := l.now().Sub(l.answered)
	if since < 0 { // the clock went back
		since = time.Hour
	}
	var after time.Duration
	switch l.core.pending() {
	case news:
		after = min(10*l.core.took, time.Second) // a storm of news must not take a whole core
	case counts:
		after = max(countsAfter, 10*l.core.took)
	case figures:
		after = figuresAfter
	default:
		return time.Hour
	}
	return max(0, after-since)
}

// take brings a chunk of a log into the window.
func (l *loop) take(ctx context.Context, source string, c follow.Chunk) {
	if c.Lines > 0 {
		if err := l.core.take(ctx, c); err != nil {
			return // stopped: the position stays before the chunk
		}
	}
	l.mu.Lock()
	l.positions[source] = c.Position
	l.mu.Unlock()
	l.health.read(source, c.Lines, c.Lost, time.Since(c.At))
	if c.Lost > 0 {
		l.log.Warn("records were overwritten before they were read", "source", source, "lost", c.Lost)
	}
}

// read takes a document of a probe.
func (l *loop) read(r reading) {
	if r.err != nil {
		l.health.failed(r.source, r.state, r.err)
		l.log.Warn("source does not answer", "source", r.source, "error", r.err)
		delete(l.waiting, r.source)
	}
	if r.doc == nil {
		return
	}
	now := l.now()
	c := l.core
	c.readings.put(r.source, r.doc, r.how)
	c.readings.judge(now)
	if r.how > some {
		l.holders.read(c.readings.of(r.source), now)
		if r.source == sourceGPUs {
			l.place(now)
		}
	}
	if r.err == nil && r.source != hungGPUs {
		l.health.answered(r.source, r.took)
		delete(l.waiting, r.source)
		if r.source == sourceGPUs && l.health.stateOf(sourceGPUs) == SourceOK && c.readings.has(hungGPUs) {
			l.health.failed(sourceGPUs, SourceStuck, errHung)
		}
	}
	l.lastRead = now
}

var errHung = errors.New("a call about a GPU does not return; the others are read")

// partial reports whether the answer lacks what a source would say now.
func (l *loop) partial() bool {
	if len(l.waiting) > 0 {
		return true
	}
	for _, s := range l.health.snapshot() {
		if (s.Name == sourceGPUs || s.Name == sourceHost) && s.State != SourceOK && s.State != SourceOff {
			return true
		}
	}
	return false
}

// answer asks the engine and stores what it says.
func (l *loop) answer(ctx context.Context) {
	l.core.conclude()
	l.answered = l.now()
	l.observe(ctx)
}

// observe hands the last answer to the store, with the positions that it rests on. The
// same answer again changes nothing, so that it may be repeated as often as needed.
func (l *loop) observe(ctx context.Context) {
	now := l.now()
	l.observed = now
	a := &l.core.answer
	r, err := l.store.Observe(ctx, now, incident.Observation{
		Node: l.conf.Node, Run: l.core.run, Continues: l.continues, Boot: l.boot, Lang: l.conf.Language,
		Partial: l.partial(), Findings: a.Findings, Unexplained: a.Unexplained, Who: l.holders.list(now),
	}, l.cursors())
	if ctx.Err() != nil { // the end stores it
		return
	}
	if err == nil && r.Written {
		l.written = l.savedAt
	}
	l.took(r, err)
}

// took notes what a step of the store came to.
func (l *loop) took(r store.Result, err error) {
	l.stored(err)
	if err == nil && len(r.Changes) > 0 {
		l.told(r)
		l.show()
	}
}

// cursors are the positions of this moment, and the window with them. Only what the last
// answer holds may be there: lines after it are in the window already, and so are their
// positions, since both are taken together.
func (l *loop) cursors() map[string]string {
	l.mu.Lock()
	out := maps.Clone(l.positions)
	l.mu.Unlock()
	w := l.core.window
	at := [3]uint64{w.news + 1, w.more, l.core.readings.news}
	if at != l.savedAt {
		l.saved, l.savedAt = w.save(l.core.run, l.core.readings.onset), at
	}
	out[windowCursor] = l.saved
	return out
}

// stored notes whether the store can be written; incidents go on in memory meanwhile.
func (l *loop) stored(err error) {
	if err == nil {
		if l.failing {
			l.log.Info("the store can be written again")
		}
		l.failing = false
		l.health.answered(sourceStore, 0)
		return
	}
	if !l.failing {
		l.log.Error("incidents cannot be stored; they are kept in memory and tried again", "error", err)
	}
	l.failing = true
	l.health.failed(sourceStore, SourceFailed, err)
}

// tick lets time pass for incidents, and forgets what is too old.
func (l *loop) tick(ctx context.Context) {
	now := l.now()
	l.beat = now
	if len(l.waiting) > 0 && now.Sub(l.begun) > patienceLeft {
		clear(l.waiting)
	}
	l.show()
	l.alerts.tick(ctx, now)
	l.idle.tick(ctx, now)
	hidden := false
	for _, i := range l.store.Snapshot() {
		hidden = hidden || i.Live() && !i.Visible
	}
	switch quiet := now.Sub(l.observed).Abs(); {
	case hidden, l.failing, l.written != l.savedAt && quiet >= quietObserve, quiet >= fullObserve:
		l.observe(ctx)
	case now.Sub(l.ticked).Abs() >= quietObserve:
		l.ticked = now
		r, err := l.store.Do(ctx, now, nil, func(s *incident.Step) error { s.Tick(); return nil })
		if ctx.Err() == nil {
			l.took(r, err)
		}
	}
	if n := l.store.Reloads(); n != l.reloads { // a person's verb wrote it
		l.reloads = n
		l.told(store.Result{})
	}
	if now.Sub(l.expired).Abs() >= time.Minute {
		l.expired = now
		l.expire(now)
		l.takeInventory(ctx, now)
	}
	if now.Sub(l.leaned).Abs() >= leanEvery && now.Sub(l.begun).Abs() > leanAfter {
		l.leaned = now
		l.lean()
	}
	if now.Sub(l.pruned).Abs() >= time.Hour {
		l.pruned = now
		limits := store.DefaultLimits
		limits.Age = l.conf.Incidents.Keep
		if err := l.store.Prune(ctx, now, limits); err != nil && ctx.Err() == nil {
			l.log.Warn("old incidents cannot be deleted", "error", err)
		}
	}
}

type linePlace struct {
	input, kind string
	line        int
}

// expire drops events that are too old, but for those on which a live incident rests;
// and those of an incident that was verified and closed after them: they are history.
func (l *loop) expire(now time.Time) {
	live, over := map[linePlace]bool{}, map[linePlace]time.Time{}
	for _, i := range l.store.Snapshot() {
		for _, e := range i.Evidence {
			p := linePlace{e.Input, e.Signal, e.Line}
			switch {
			case i.Live():
				live[p] = live[p] || i.Layer != "software" // a program's fault explains nothing later
			case !i.Verified.IsZero():
				over[p] = i.Closed
			}
		}
	}
	w := l.core.window
	w.expire(now, func(s *gpumedic.Signal) bool { return live[linePlace{s.Evidence.Input, s.Kind, s.Evidence.Line}] })
	for key, s := range w.events {
		p := linePlace{s.Evidence.Input, s.Kind, s.Evidence.Line}
		if closed, ok := over[p]; ok && !live[p] && s.Last.Dated() && s.Last.Time.Before(closed) {
			w.drop(key)
		}
	}
}

// end stores what is known when the daemon stops.
func (l *loop) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if l.core.pending() >= counts {
		l.core.conclude()
	}
	l.savedAt = [3]uint64{} // when each card was seen last is news of no one, but kept
	l.observe(ctx)
	l.alerts.end(ctx)
	l.idle.close()
	if err := l.store.Flush(ctx, l.now()); err != nil {
		l.log.Error("the last positions cannot be stored; lines will be read again", "error", err)
	}
}
