package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/nvml"
	"github.com/gpumedic/gpumedic/internal/lean"
	"github.com/gpumedic/gpumedic/internal/probe"
)

// FollowName is the name under which the program registers Follow.
const FollowName = "nvml-follow"

// Levels of a document: what it holds of a GPU. A document of a level takes the place of
// what one of the same or a lesser level said before.
const (
	LevelVital = "vital" // load, memory, power, temperature, throttling: each tick
	LevelQuick = "quick" // what decides fitness
	LevelFull  = "full"
	// LevelChange holds what differs from the vital document before it; all else that it
	// said holds on.
	LevelChange = "change"
)

// End is the last line of a document of Follow: the level follows.
const End = "# end "

// EventLine begins a line about an event: "# xid 79 0000:0a:00.0".
const EventLine = "# xid "

// FollowOptions say how often is read.
type FollowOptions struct {
	Every       time.Duration // vital
	Quick, Full int           // each so many ticks
	Skip        []string      // addresses of GPUs that are not asked: a call about them hangs
}

// Args are the options as the child's arguments.
func (o FollowOptions) Args() []string {
	return append([]string{o.Every.String(), strconv.Itoa(o.Quick), strconv.Itoa(o.Full)}, o.Skip...)
}

func (o *FollowOptions) parse(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("follow gpus: %d arguments, want 3 or more", len(args))
	}
	var err1, err2, err3 error
	o.Every, err1 = time.ParseDuration(args[0])
	o.Quick, err2 = strconv.Atoi(args[1])
	o.Full, err3 = strconv.Atoi(args[2])
	if err := errors.Join(err1, err2, err3); err != nil || o.Every <= 0 || o.Quick < 1 || o.Full < 1 {
		return errors.Join(fmt.Errorf("follow gpus: arguments %q", args), err)
	}
	for _, a := range args[3:] {
		pci := gpumedic.NormalPCI(a)
		if pci == "" {
			return fmt.Errorf("follow gpus: %q is no PCI address", a)
		}
		o.Skip = append(o.Skip, pci)
	}
	return nil
}

// Follow reads again and again in one child, with the library open all the time: opening
// it costs more than all vital readings. A library or driver that goes away is opened
// again at the next tick.
//
// It runs for as long as the daemon does and is to cost next to nothing: one write a
// tick, one processor (a second would be woken in vain), a heap that is collected often.
func Follow(ctx context.Context, c *child.Context) error {
	var o FollowOptions
	if err := o.parse(c.Args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(followGC)
	lean.Settle()
	f := &follower{o: o, out: c.Out, calls: newCalls(c.Call), lastQuick: -soonAfter}
	defer f.close()
	next := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		if err := f.tick(n); err != nil {
			return err
		}
		if n%leanEvery == 2 {
			debug.FreeOSMemory()
			lean.Release()
		}
		next = next.Add(o.Every)
		if late := time.Since(next); late > 0 { // a slow driver is not asked more often for it
			next = time.Now()
		}
		if err := f.wait(ctx, next); err != nil {
			return err
		}
	}
	return ctx.Err()
}

const (
	// leanEvery is after how many ticks pages that only the start or a full document
	// needed are given back again.
	leanEvery = 1200
	// followGC: of a heap of some hundred KiB even a collection at each tenth of it more
	// is rare.
	followGC = 20
	// soonAfter is how many ticks lie at least between two quick documents that events
	// ask for.
	soonAfter = 5
)

type follower struct {
	o       FollowOptions
	out     io.Writer
	doc     bytes.Buffer // of this tick
	before  []byte       // the vital document that the last one was, if it was one
	packet  []byte       // what is sent
	calls   *calls
	n       *nvml.NVML
	devices []device
	failed  []failure
	events  nvml.EventSet
	listens bool
	where   string
	again   bool // open it again at the next tick

	soon      bool // an event was told: what decides fitness may have changed
	lastQuick int  // tick
}

// tick writes one document.
func (f *follower) tick(n int) error {
	f.calls.begin()
	level := LevelVital
	switch {
	case n%f.o.Full == 0:
		level = LevelFull
	case n%f.o.Quick == 0, f.soon && n-f.lastQuick >= soonAfter:
		level = LevelQuick
	}
	if level != LevelVital {
		f.soon, f.lastQuick = false, n
	}
	f.doc.Reset()
	w := probe.NewWriter(&f.doc)
	if f.n == nil {
		if level == LevelVital && n > 0 && !f.again {
			f.calls.end(true)
			return nil // no driver: ask again at the next quick tick
		}
		f.again = false
		if !f.open(w) {
			return f.end(level)
		}
		level = LevelFull
	}
	if level != LevelVital {
		w.Subject("node", "")
		w.Value("driver.loaded", true)
		count := node(f.n, w)
		if count != len(f.devices)+len(f.failed) {
			f.close()
			f.again = true
			return f.end(level)
		}
	}
	again := false
	for _, d := range f.devices {
		if slices.Contains(f.o.Skip, d.pci) {
			continue
		}
		f.where = d.pci
		r := &reader{n: f.n, w: w, d: d.handle, pci: d.pci, full: level == LevelFull, proc: "/proc"}
		switch {
		case level == LevelVital:
			r.vital()
		case level == LevelQuick:
			r.read()
			r.full = true // who uses the GPU is worth to be known in time
			r.processes()
		default:
			r.read()
		}
		// Handles of a GPU that comes back are others.
		again = again || r.uninitialized || r.gone && level == LevelFull && n > 0
	}
	f.where = ""
	if level != LevelVital {
		unopened(w, "/proc", f.devices, f.failed)
	}
	if again {
		f.close()
		f.again = true
	}
	return f.end(level)
}

// end sends the document, of a vital one only what is new.
func (f *follower) end(level string) error {
	f.calls.end(false)
	doc := f.doc.Bytes()
	f.packet = f.packet[:0]
	if level != LevelVital {
		f.before = f.before[:0]
		f.packet = append(f.packet, doc...)
	} else {
		var ok bool
		if f.packet, ok = changes(f.packet, f.before, doc); ok {
			level = LevelChange
		} else {
			f.packet = append(f.packet, doc...)
		}
		f.before = append(f.before[:0], doc...)
	}
	f.packet = append(append(append(f.packet, End...), level...), '\n')
	_, err := f.out.Write(f.packet)
	return err
}

// open starts the library; what is wrong is in the document.
func (f *follower) open(w *probe.Writer) bool {
	w.Subject("node", "")
	n, err := nvml.Open()
	if err != nil {
		w.Noted("driver.loaded", driverLoaded("/proc"), "/proc/driver/nvidia/version")
		w.Noted("nvml.status", openWord(err), err.Error())
		return false
	}
	n.Before = func(function string) { f.calls.call(strings.TrimSpace(function + " " + f.where)) }
	if err := n.Init(); err != nil {
		w.Noted("driver.loaded", driverLoaded("/proc"), "/proc/driver/nvidia/version")
		w.Noted("nvml.status", initWord(nvml.CodeOf(err)), err.Error())
		return false
	}
	f.n = n
	count, err := n.Count()
	if err == nil {
		f.devices, f.failed = open(n, count, func(i int) { f.where = fmt.Sprintf("index %d", i) })
	}
	f.where = ""
	f.listen()
	return true
}

// listen asks for Xid events; a driver without them is none the worse.
func (f *follower) listen() {
	set, err := f.n.NewEvents()
	if err != nil {
		return
	}
	f.events, f.listens = set, true
	for _, d := range f.devices {
		if slices.Contains(f.o.Skip, d.pci) {
			continue
		}
		if can, err := f.n.SupportedEvents(d.handle); err == nil && can&nvml.EventXid != 0 {
			_ = f.n.Register(d.handle, nvml.EventXid, set) // the kernel log tells the same
		}
	}
}

func (f *follower) close() {
	if f.n == nil {
		return
	}
	if f.listens {
		_ = f.n.FreeEvents(f.events)
	}
	_ = f.n.Shutdown() // one that fails takes nothing away
	f.n, f.devices, f.failed, f.listens = nil, nil, nil, false
}

// wait lets the time pass until the next tick, hearing events meanwhile.
func (f *follower) wait(ctx context.Context, next time.Time) error {
	for {
		left := time.Until(next)
		if left <= 0 {
			return nil
		}
		if !f.listens || left < time.Millisecond {
			select {
			case <-time.After(left):
			case <-ctx.Done():
			}
			return nil
		}
		e, err := f.n.Wait(f.events, left)
		if code := nvml.CodeOf(err); err != nil && code != nvml.Timeout {
			f.listens = false // the next opening asks again
			continue
		}
		if err == nil && e.Type&nvml.EventXid != 0 {
			pci := ""
			for _, d := range f.devices {
				if d.handle == e.Device {
					pci = d.pci
				}
			}
			f.soon = true
			if _, err := fmt.Fprintf(f.out, "%s%d %s\n", EventLine, e.Data, pci); err != nil {
				return err
			}
		}
	}
}

// vital reads what changes from second to second.
func (r *reader) vital() {
	r.w.Subject("gpu", r.pci)
	r.w.Value("pci", r.pci)
	for _, part := range []func(){r.memoryQuick, func() { r.ask(vitals) }, r.utilization, r.reasons} {
		if r.gone {
			return
		}
		part()
	}
}

func (r *reader) memoryQuick() {
	r.full = false
	r.memory()
}

var vitals = []question{
	{"pstate", true, as((*nvml.NVML).PState, pstate)},
	{"clocks.sm.mhz", true, kind((*nvml.NVML).Clock, nvml.ClockSM)},
	{"power.draw.watts", true, as((*nvml.NVML).PowerUsage, watts)},
	{"temperature.gpu.celsius", true, of((*nvml.NVML).Temperature)},
}

// calls tells the parent which driver call does not return. A mark a call would cost more
// than most calls: only one that lasts is told, by another thread.
type calls struct {
	mark func(string)

	mu    sync.Mutex
	now   string
	timer *time.Timer
	busy  bool
	told  bool // a call of this tick
}

// lateAfter is how long a tick may take until the call that it is in is told.
const lateAfter = 200 * time.Millisecond

func newCalls(mark func(string)) *calls {
	c := &calls{mark: mark}
	c.timer = time.AfterFunc(time.Hour, c.late)
	return c
}

func (c *calls) call(name string) {
	c.mu.Lock()
	c.now = name
	c.mu.Unlock()
}

// begin and end stand around a tick. A document tells the parent that we are alive;
// where there is none, or a call was told that has returned since, a mark does.
func (c *calls) begin() {
	c.mu.Lock()
	c.busy, c.told, c.now = true, false, ""
	c.mu.Unlock()
	c.timer.Reset(lateAfter)
}

func (c *calls) end(silent bool) {
	c.timer.Stop()
	c.mu.Lock()
	c.busy = false
	told := c.told
	c.mu.Unlock()
	if silent || told {
		c.mark("")
	}
}

// late repeats the name as long as calls come and go: only one that stays the same for
// long lets the parent's patience end.
func (c *calls) late() {
	c.mu.Lock()
	busy, now := c.busy, c.now
	c.told = c.told || busy
	c.mu.Unlock()
	if !busy {
		return
	}
	c.mark(now)
	for range 600 {
		time.Sleep(lateAfter)
		c.mu.Lock()
		same := c.busy && c.now == now
		c.mu.Unlock()
		if !same {
			c.timer.Reset(lateAfter)
			return
		}
	}
}

// A Splitter cuts the child's answer into documents and events.
type Splitter struct {
	Doc   func(level string, doc []byte)
	Event func(code uint64, pci string)

	doc  []byte
	line []byte
}

// maxDoc bounds a document: sixteen GPUs with all their processes have some 200 KiB.
const maxDoc = 4 << 20

// Write implements io.Writer.
func (s *Splitter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			s.line = append(s.line, rest...)
			break
		}
		s.line = append(s.line, rest[:i+1]...)
		rest = rest[i+1:]
		s.take()
		s.line = s.line[:0]
	}
	if len(s.line)+len(s.doc) > maxDoc {
		return 0, io.ErrShortBuffer
	}
	return len(b), nil
}

func (s *Splitter) take() {
	line := string(bytes.TrimRight(s.line, "\n"))
	if level, ok := strings.CutPrefix(line, End); ok {
		doc := s.doc
		s.doc = nil
		s.Doc(level, doc)
		return
	}
	if rest, ok := strings.CutPrefix(line, EventLine); ok {
		number, pci, _ := strings.Cut(rest, " ")
		if code, err := strconv.ParseUint(number, 10, 64); err == nil {
			s.Event(code, pci)
		}
		return
	}
	s.doc = append(s.doc, s.line...)
}

// Rest is the document that was being written when the child ended.
func (s *Splitter) Rest() []byte { return s.doc }
