package traceback

import (
	"cmp"
	"maps"
	"slices"
)

const (
	maxStreams = 4096
	maxKept    = 4096
)

// Reader puts the tracebacks of one input together. The zero value is not ready: use
// [New].
type Reader struct {
	streams map[string]*stream
	row     int // lines added
	// head is the stream whose traceback the last line began, and bare the name under
	// which its further lines come when only the first one bears a prefix.
	head  *stream
	taker *stream // of the line that Next was asked about
	bare  map[string]*stream
	kept  []*Exception
	lived []int // lines that were watched and not the last of their writers
	// used are writers that outlived such lines before: one step tells that they did again.
	used  map[string]bool
	byKey map[string]*Exception
}

// New returns a reader for one input.
func New() *Reader {
	return &Reader{streams: map[string]*stream{}, bare: map[string]*stream{}, byKey: map[string]*Exception{}, used: map[string]bool{}}
}

// Active reports whether lines without one of [Literals] matter now.
func (r *Reader) Active() bool { return len(r.streams) > 0 }

// Add takes the next line of the input.
func (r *Reader) Add(l Line) {
	if r.Next(l) {
		r.Take(l)
	}
}

// Next says whether the next line matters; if so, [Reader.Take] is to be given it, with
// what it is From.
func (r *Reader) Next(l Line) bool {
	r.row++
	if r.row%256 == 0 {
		r.expire()
	}
	r.taker = r.owner(l)
	if r.taker == nil && starts(l.Text) {
		r.taker = r.open(l.Stream)
	}
	return r.taker != nil
}

// Take takes the line that Next was asked about.
func (r *Reader) Take(l Line) {
	s := r.taker
	head := s.state != inFrames
	s.add(l)
	r.head = nil
	if head && s.state == inFrames && len(s.frames) == 0 {
		r.head = s
	}
}

// open begins to follow a writer; nil when there are too many.
func (r *Reader) open(name string) *stream {
	if len(r.streams) >= maxStreams {
		return nil
	}
	s := &stream{r: r, name: name, row: r.row}
	r.streams[name] = s
	return s
}

// Watch follows the writer of a line that may have been its last words, though they are
// no traceback. [Reader.Outlived] tells when they were not.
func (r *Reader) Watch(l Line) {
	s := r.streams[l.Stream]
	if s == nil {
		if s = r.open(l.Stream); s == nil {
			return
		}
	}
	if s.state == inFrames || len(s.chain) > 0 && s.chain[len(s.chain)-1].holds(l.No) {
		return // part of a traceback
	}
	if len(s.watched) == 0 {
		s.life, s.steps = 0, 0
	}
	s.state, s.behind = behind, 0
	if len(s.watched) < 64 {
		s.watched = append(s.watched, watched{l.No, s.steps})
	}
}

// Outlived are the watched lines, of a finished input, that their writers outlived.
func (r *Reader) Outlived() []int { return r.lived }

// owner is the stream that a line belongs to. Loggers write a prefix before the first
// line of a record alone: a frame right behind such a line is of the same traceback,
// and so are the lines like it until that ends.
func (r *Reader) owner(l Line) *stream {
	own := r.streams[l.Stream]
	if s := r.bare[l.Stream]; s != nil {
		if r.streams[s.name] == s && (s.state == inFrames || s.link != noLink || s.behind < 3) && (s.link != noLink || !starts(l.Text)) {
			return s
		}
		delete(r.bare, l.Stream)
	}
	if h := r.head; h != nil && h != own && len(r.bare) < maxStreams && (own == nil || !own.expects()) && frameLine.MatchString(l.Text) {
		r.bare[l.Stream] = h
		return h
	}
	return own
}

// expire settles the streams that have been silent for long.
func (r *Reader) expire() {
	var old []string
	for name, s := range r.streams {
		if r.row-s.row > watchRows {
			old = append(old, name)
		}
	}
	slices.Sort(old)
	for _, name := range old {
		s := r.streams[name]
		s.settle(s.life == 0)
	}
}

// keep stores an exception, or counts it when the like is there.
func (r *Reader) keep(e *Exception) {
	if e.Truncated && e.Raised.File == "" {
		return // no frame and no class: nothing to say
	}
	key := e.At.Stream + "\x00" + e.Module + "." + e.Type + "\x00" + e.Raised.At() + "\x00" + e.User.At() + "\x00" + withoutDigits(e.Message)
	if have := r.byKey[key]; have != nil {
		have.Count++
		have.Last, have.Final = e.At, e.Final
		if len(have.Lines) < 1<<12 {
			have.Lines = append(have.Lines, e.Lines...)
		}
		return
	}
	if len(r.kept) >= maxKept {
		return
	}
	r.byKey[key] = e
	r.kept = append(r.kept, e)
}

// Finish ends the input and returns its exceptions in the order of their lines.
func (r *Reader) Finish() []*Exception {
	for _, name := range slices.Sorted(maps.Keys(r.streams)) {
		if s := r.streams[name]; s != nil {
			s.settle(s.life == 0)
		}
	}
	slices.SortStableFunc(r.kept, func(a, b *Exception) int { return cmp.Compare(a.At.No, b.At.No) })
	return r.kept
}
