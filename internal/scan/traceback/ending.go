package traceback

import "strings"

// expects reports whether a frame's line would be of this stream's own traceback.
func (s *stream) expects() bool {
	return s.state == inFrames || s.state == behind && s.behind < 3 && len(s.chain) > 0
}

// between reads lines outside of tracebacks.
func (s *stream) between(l Line) {
	switch {
	case strings.Contains(l.Text, headText):
		s.begin(l)
		return
	case strings.Contains(l.Text, "Fatal Python error: "):
		s.beginFault(l)
		return
	case strings.Contains(l.Text, spawnText):
		if m := spawnName.FindStringSubmatch(l.Text); m != nil {
			s.rank = m[1]
		}
		return
	case strings.Contains(l.Text, "Exception ignored in"):
		s.endChain()
		s.ignored = true
		return
	}
	if m := threadName.FindStringSubmatch(l.Text); m != nil {
		s.endChain()
		s.thread = m[1]
		return
	}
	if s.state == behind {
		s.after(l)
	}
}

// after reads a line behind an exception.
func (s *stream) after(l Line) {
	s.behind++
	_, _, text, _ := s.own(l)
	switch {
	case text == "":
		s.over = s.over || len(s.chain) > 0 && s.chain[len(s.chain)-1].Message != ""
		return
	case strings.HasPrefix(text, "The above exception was the direct cause of"):
		s.link = linkCause
		return
	case strings.HasPrefix(text, "During handling of the above exception"):
		s.link = linkContext
		return
	}
	says := signOf(text)
	if n := len(s.chain); n > 0 && s.behind <= maxBehind {
		if m := frameLine.FindStringSubmatch(text); m != nil && s.behind <= 3 && !s.chain[n-1].Truncated { // Ray puts the worker's frames there
			s.link = linkInner
			s.open1(Line{Stream: l.Stream, No: l.No, Indent: max(0, l.Indent-2), From: l.From})
			s.push(Frame{File: m[1], Line: m[2], Func: m[3]}, l)
			return
		}
		e := s.chain[n-1]
		if s.mode == group {
			if sub, sure, ok := parseClass(text); ok && sure { // a member without a traceback
				sub.At = l
				s.link, s.frames = linkInner, nil
				s.close(sub)
				return
			}
		}
		s.over = s.over || text[0] == '[' || logRecord.MatchString(text)
		if !s.over && says == signNone {
			e.Lines = append(e.Lines, l.No)
			if s.mode == rich && e.Message != "" { // Rich folds at the terminal's width
				e.Message, e.Wrapped = e.Message+" "+text, true
			}
			if _, sure, _ := parseClass(text); e.Message == "" && !sure && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, `"""`) && !strings.HasPrefix(text, "-- ") {
				e.Message = text
			}
		}
	}
	s.weigh(text, says)
}

// weigh judges by a line behind the exceptions whether the program lives.
func (s *stream) weigh(text string, says sign) {
	if says == signLife && s.relayed && !progress.MatchString(text) {
		says = signNone
	}
	switch says {
	case signEnd:
		s.settle(true)
	case signLife:
		s.life++
		if progress.MatchString(text) {
			s.steps++
		}
		switch {
		case s.steps >= lifeSigns || s.life >= lifeSigns && len(s.watched) == 0:
			s.settle(false)
		case s.life >= lifeSigns: // of a line by itself a log's chatter says less
			s.release(false)
		}
	case signDone:
		s.steps = lifeSigns
		s.settle(false)
	default:
		if s.behind > watchLines {
			s.settle(s.life == 0)
		}
	}
}

// endChain makes the exceptions of a chain wait for the verdict.
func (s *stream) endChain() {
	for _, e := range s.chain {
		e.chain = s.chain
	}
	s.open = append(s.open, s.chain...)
	if len(s.open) > 64 { // a stream full of exceptions outlives them
		for _, e := range s.open[:len(s.open)-64] {
			s.r.keep(e)
		}
		s.open = s.open[len(s.open)-64:]
	}
	s.chain, s.link, s.rank = nil, noLink, ""
}

// settle ends the watch with a verdict on all that waits.
func (s *stream) settle(final bool) {
	if s.state == inFrames {
		s.close(Exception{Truncated: true, At: s.last})
	}
	s.release(final)
	if !final && (s.steps >= lifeSigns || s.r.used[s.name]) {
		s.outlive()
	}
	s.watched, s.state = nil, idle
	delete(s.r.streams, s.name)
}

// outlive notes the watched lines behind which the work went on.
func (s *stream) outlive() {
	for _, w := range s.watched {
		if s.steps > w.steps && len(s.r.lived) < maxKept {
			s.r.lived = append(s.r.lived, w.no)
			s.r.used[s.name] = true
		}
	}
}

// release gives the verdict on the exceptions that wait for it.
func (s *stream) release(final bool) {
	s.endChain()
	for _, e := range s.open {
		e.Final = final && !e.Ignored
		s.r.keep(e)
	}
	s.open = nil
}
