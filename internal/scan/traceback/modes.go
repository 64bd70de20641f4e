package traceback

import (
	"slices"
	"strings"
)

func (s *stream) richLine(l Line, text string) {
	switch {
	case strings.HasPrefix(text, "╰"), strings.HasPrefix(text, "└"), strings.HasPrefix(text, "+--"):
		s.afterBod = true
	case richFrame.MatchString(text):
		m := richFrame.FindStringSubmatch(text)
		s.push(Frame{File: m[1], Line: m[2], Func: m[3]}, l)
	case richCode.MatchString(text):
		s.body(l, strings.TrimSpace(richCode.FindStringSubmatch(text)[1]))
	case strings.HasPrefix(text, "│"), strings.HasPrefix(text, "|"):
	default:
		if e, _, ok := parseClass(text); ok {
			e.At = l
			s.close(e)
			return
		}
		s.stranger()
	}
}

func (s *stream) cellLine(l Line, text string) {
	if rest, ok := strings.CutPrefix(text, s.want); ok && (rest == "" || rest[0] == ':') {
		if e, _, ok := parseClass(text); ok {
			e.At = l
			s.close(e)
			return
		}
	}
	if m := cellArrow.FindStringSubmatch(text); m != nil {
		if n := len(s.frames); n > 0 {
			if s.frames[n-1].Line == "" {
				s.frames[n-1].Line = m[1]
			}
			s.body(l, strings.TrimSpace(m[2]))
		}
		return
	}
	if m := cellFrame.FindStringSubmatch(text); m != nil && l.Indent <= s.base {
		s.push(Frame{File: m[1], Line: m[2] + m[3], Func: m[4]}, l)
	}
}

// faultLine reads what faulthandler prints: threads, each innermost frame first. Of
// all threads the current one failed.
func (s *stream) faultLine(l Line, text string) {
	switch {
	case strings.HasPrefix(text, "Current thread "):
		s.current, s.last = true, l
	case strings.HasPrefix(text, "Thread 0x"):
		s.current = false
	case frameLine.MatchString(text):
		if m := frameLine.FindStringSubmatch(text); s.current && len(s.frames) < maxFrames {
			s.frames = append(s.frames, Frame{File: m[1], Line: m[2], Func: m[3]})
			s.afterBod = true
		}
	case strings.HasPrefix(text, "Python runtime state"), text == "...", strings.HasPrefix(text, "<no Python frame>"):
	case s.afterBod:
		s.closeFault()
	default:
		if s.foreign++; s.foreign > 4 {
			s.closeFault()
		}
	}
}

func (s *stream) beginFault(l Line) {
	s.endChain()
	_, what, _ := strings.Cut(l.Text, "Fatal Python error: ")
	s.mode, s.prefixes, s.prefixed, s.current = fault, nil, "", false
	s.open1(l)
	s.chain = append(s.chain, &Exception{Fatal: true, Message: strings.TrimSpace(what), Head: l, At: l, Last: l, Count: 1, Lines: []int{l.No}})
}

func (s *stream) closeFault() {
	e := s.chain[len(s.chain)-1]
	slices.Reverse(s.frames)
	e.place(s.frames)
	s.state, s.behind, s.life = behind, 0, 0
}
