package traceback

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Bounds of one traceback and of the watch behind it.
const (
	maxLines   = 400
	maxBytes   = 1 << 20
	maxFrames  = 256
	maxChain   = 256  // exceptions that hang on one another
	maxForeign = 24   // lines of others within one traceback
	maxBehind  = 12   // lines of a message that goes on behind the first
	watchLines = 200  // own lines watched behind an exception
	watchRows  = 5000 // lines of all streams
)

type state uint8

const (
	idle state = iota // an announcement was seen: "Exception in thread …"
	inFrames
	behind // the exception is known
)

type mode uint8

const (
	plain mode = iota
	group      // with the gutter of an exception group
	rich
	notebook
	fault // faulthandler: innermost first
)

// stream is one writer's reading state.
type stream struct {
	r     *Reader
	name  string
	state state
	mode  mode

	prefixes []string
	prefixed string // the prefix that this traceback's lines bear
	base     int    // indentation of its first line
	want     string // class that a notebook's header announced

	frames   []Frame
	hasCode  bool // the last frame has its source line
	current  bool // faulthandler: in the thread that failed
	lines    int
	bytes    int
	foreign  int
	afterBod bool // the last own line was part of a frame
	head     Line
	last     Line

	thread  string
	ignored bool
	rank    string

	chain []*Exception // of the current chain, in the order printed
	link  link         // how the next one hangs on it
	open  []*Exception // not yet known to be final or not
	// watched are lines of no traceback that wait for the same verdict.
	watched []watched
	relayed bool // a relay writes INFO before all lines, tracebacks too
	life    int  // signs of it since the last exception
	steps   int  // of them progress of the work itself
	behind  int  // own lines since the last exception
	over    bool // its message has ended
	row     int  // of the reader, when last active
}

// watched is a line that may have been the last of its writer, and how many steps of
// work had been seen before it.
type watched struct{ no, steps int }

type link uint8

const (
	noLink link = iota
	linkCause
	linkContext
	linkInner // printed behind the exception that it caused
)

var (
	threadName = lazyre.New(`Exception in thread ([^:]{1,80}):?$`)
	logRecord  = lazyre.New(`^(?:[IWEF]\d{4} |(?:INFO|DEBUG|WARN|WARNING|ERROR|CRITICAL|FATAL)\b|\d{4}-\d\d-\d\d)`)
	spawnName  = lazyre.New(`-- Process (\d{1,6}) terminated with the following error`)
)

// add takes one own line.
func (s *stream) add(l Line) {
	s.row = s.r.row
	switch s.state {
	case inFrames:
		s.inFrames(l)
	default:
		s.between(l)
	}
}

// begin opens a traceback at its first line.
func (s *stream) begin(l Line) {
	at := strings.Index(l.Text, headText)
	before := strings.TrimRight(l.Text[:at], " ")
	if s.state == behind && s.link == noLink {
		if strings.HasSuffix(before, "Original") || s.rank != "" || s.nested() {
			s.link = linkInner
		} else {
			s.endChain()
		}
	}
	s.mode, s.want, s.prefixed = plain, "", ""
	switch {
	case strings.HasSuffix(before, "Exception Group"):
		s.mode = group
	case strings.ContainsAny(before, "╭┌"):
		s.mode = rich
	default:
		if m := cellHead.FindStringSubmatch(l.Text); m != nil && m[1] != "Original" {
			s.mode, s.want = notebook, m[1]
		}
	}
	if strings.HasPrefix(before, "|") && strings.Trim(before, "| ") == "" { // inside of a group
		s.mode = group
	}
	s.prefixes, s.relayed = nil, chatter.MatchString(before)
	if s.mode == plain {
		s.prefixes = prefixes(l.Text)
	}
	s.open1(l)
}

// open1 resets what belongs to one traceback.
func (s *stream) open1(l Line) {
	s.state, s.base, s.head, s.last = inFrames, l.Indent, l, l
	s.frames, s.hasCode, s.afterBod = nil, false, false
	s.lines, s.bytes, s.foreign = 1, len(l.Text), 0
}

// nested reports whether the last exception is of those that carry another one's
// traceback in their message.
func (s *stream) nested() bool {
	if len(s.chain) == 0 || s.behind > maxBehind {
		return false
	}
	e := s.chain[len(s.chain)-1]
	return strings.HasPrefix(e.Type, "RayTaskError") || e.Type == "RemoteTraceback" || e.Type == "_RemoteTraceback" ||
		e.Type == "ProcessRaisedException" || strings.HasPrefix(e.Message, "Caught ")
}

// own strips what the traceback's lines bear in common: text and indentation.
func (s *stream) own(l Line) (indent, base int, text string, mine bool) {
	if s.prefixed != "" {
		if rest, ok := cutPrefix(s.prefixed, l.Text); ok {
			indent, text = dedent(rest)
			return indent, 0, text, true
		}
		return l.Indent, s.base, l.Text, false
	}
	for _, p := range s.prefixes {
		if rest, ok := cutPrefix(p, l.Text); ok {
			s.prefixed = p
			indent, text = dedent(rest)
			return indent, 0, text, true
		}
	}
	if s.mode == group {
		rest, rule := cutGutter(l.Text)
		if rule {
			return 0, 0, "", true
		}
		indent, text = dedent(rest)
		return indent, 0, text, true
	}
	return l.Indent, s.base, l.Text, true
}

func (s *stream) inFrames(l Line) {
	if strings.Contains(l.Text, headText) {
		if len(s.frames) > 0 {
			s.close(Exception{Truncated: true, At: s.last})
		}
		s.begin(l)
		return
	}
	indent, base, text, mine := s.own(l)
	if s.lines++; s.lines > maxLines {
		s.close(Exception{Truncated: true, At: s.last})
		return
	}
	if s.bytes += len(l.Text); s.bytes > maxBytes {
		s.close(Exception{Truncated: true, At: s.last})
		return
	}
	if text == "" {
		return
	}
	if !mine {
		s.stranger()
		return
	}
	switch s.mode {
	case rich:
		s.richLine(l, text)
	case notebook:
		s.cellLine(l, text)
	case fault:
		s.faultLine(l, text)
	default:
		s.plainLine(l, indent, base, text)
	}
}

func (s *stream) plainLine(l Line, indent, base int, text string) {
	if m := frameLine.FindStringSubmatch(text); m != nil {
		s.push(Frame{File: m[1], Line: m[2], Func: m[3]}, l)
		return
	}
	if indent > base {
		s.body(l, text)
		return
	}
	if e, sure, ok := parseClass(text); ok && (sure && !strings.HasSuffix(e.Type, "Warning") || s.afterBod) {
		e.At = l
		s.close(e)
		return
	}
	if len(s.frames) > 0 && !s.hasCode && s.afterBod { // indentation was lost on the way
		s.body(l, text)
		return
	}
	s.stranger()
}

// body is a line below a frame: the source text, carets, "[Previous line repeated …]".
func (s *stream) body(l Line, text string) {
	s.last, s.afterBod = l, true
	if n := len(s.frames); n > 0 && !s.hasCode && !carets.MatchString(text) {
		s.frames[n-1].Code, s.hasCode = text[:min(len(text), 400)], true
	}
}

func (s *stream) push(f Frame, l Line) {
	if len(s.frames) == maxFrames { // deep recursion: the ends matter
		s.frames = append(s.frames[:maxFrames/2], s.frames[maxFrames/2+1:]...)
	}
	s.frames, s.hasCode, s.afterBod, s.last = append(s.frames, f), false, true, l
}

// stranger counts a line of this stream that is no part of the traceback.
func (s *stream) stranger() {
	s.afterBod = false
	if s.foreign++; s.foreign > maxForeign {
		s.close(Exception{Truncated: true, At: s.last})
	}
}

// close ends the current traceback with its exception.
func (s *stream) close(e Exception) {
	if s.mode == fault {
		s.closeFault()
		return
	}
	e.place(s.frames)
	e.Thread, e.Ignored, e.Rank = s.thread, s.ignored, s.rank
	e.Head, e.Count, e.Last, e.Lines = s.head, 1, e.At, []int{e.At.No}
	s.over = false
	if n := len(s.chain); n > 0 && s.link != noLink {
		prev := s.chain[n-1]
		prev.Chained, e.Chained = true, true
		if s.link == linkInner {
			prev.Cause, e.LedTo = e.Type, prev.Type
			if e.User.File == "" { // a worker's frames may all be of libraries
				e.User = prev.User
			}
		} else {
			prev.LedTo, e.Cause = e.Type, prev.Type
			if s.link == linkContext {
				prev.Ignored = true // handled, or it was tried to
			}
		}
		if e.Rank == "" {
			e.Rank = prev.Rank
		}
		if prev.Rank == "" {
			prev.Rank = e.Rank
		}
	}
	s.chain = append(s.chain, &e)
	if len(s.chain) > maxChain {
		s.r.keep(s.chain[0])
		s.chain = s.chain[1:]
	}
	s.state, s.link, s.behind, s.life = behind, noLink, 0, 0
	s.steps = 0
	s.thread, s.ignored = "", false
}
