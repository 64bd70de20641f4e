package frame

import (
	"bytes"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Labels that mean something only when the lines around bear the like: "3: " of
// srun -l and "node3: " of pdsh look like parts of any text. So the neighbours
// vote: most of them must begin the same way, with labels that come back.

const (
	voteRows  = 14 // how many lines on each side are asked
	voteShare = 6  // of ten lines that say anything
)

// vote is what the neighbours of a line say about a kind of label.
type vote struct {
	lines, labelled, distinct int
	ascending                 bool // 1, 2, 3, …: an enumeration
	times                     bool // "10: 30" more often than not
}

// poll asks the lines around. label gives the label that a line begins with and its
// length, 0 for none.
func (p *peeler) poll(label func(string) (string, int)) vote {
	w := p.w
	v := vote{ascending: true}
	seen := map[string]bool{}
	prev, steps, times := -2, 0, 0
	for d := -voteRows; d <= voteRows; d++ {
		line, ok := w.Line(d)
		if !ok {
			continue
		}
		s := strings.TrimLeft(clean(line[:min(len(line), 1024)]).text, " \t")
		if p.base > 0 || p.decoded { // behind the prefixes of a collector, here as there
			q := newPeeler(nil, s)
			q.run()
			if p.relayed {
				q.rest, q.at = q.rest[len(relayLabel(q.rest)):], outer
				q.run()
			}
			s = strings.TrimLeft(q.rest, " \t")
		}
		if i := strings.LastIndexByte(s, '\r'); i >= 0 {
			s = s[i+1:]
		}
		if s == "" {
			continue
		}
		v.lines++
		name, n := label(s)
		if n == 0 {
			continue
		}
		v.labelled++
		if !seen[name] {
			seen[name] = true
			v.distinct++
		}
		if digits(s[n:], 3) == 2 {
			times++
		}
		if digits(name, 7) == len(name) {
			k := atoi(name)
			if prev != -2 {
				if steps++; k != prev+1 {
					v.ascending = false
				}
			}
			prev = k
		}
	}
	v.ascending = v.ascending && steps > 0
	v.times = 2*times > v.labelled
	return v
}

// taskLabel peels "3: " of srun -l.
func (p *peeler) taskLabel() bool {
	if p.at == kernel || p.w == nil || p.m.Task != "" {
		return false
	}
	name, n := numberLabel(p.rest)
	if n == 0 {
		return false
	}
	v := p.poll(numberLabel)
	switch {
	case v.ascending, v.times, v.labelled*10 < v.lines*voteShare:
		return false
	case v.distinct == 1 && (v.labelled < 6 || v.labelled*10 < v.lines*8), v.distinct > 1 && v.labelled < 3:
		return false
	}
	p.m.addTask(name)
	return p.takeRank(n, RankTask, name)
}

// numberLabel reads "3: " or an empty "3:".
func numberLabel(s string) (string, int) {
	d := digits(s, 6)
	if d == 0 || d > 5 || d >= len(s) || s[d] != ':' {
		return "", 0
	}
	if d+1 == len(s) {
		return s[:d], d + 1
	}
	if s[d+1] != ' ' {
		return "", 0
	}
	return s[:d], d + 2
}

// levelLabel peels "INFO worker: " and "INFO - " of a relay that logs the output of
// another program line by line. A program's own logger leaves some lines bare, its
// tracebacks at least; a relay leaves none.
func (p *peeler) levelLabel() bool {
	if p.w == nil || p.relayed {
		return false
	}
	label := relayLabel(p.rest)
	if label == "" {
		return false
	}
	core := []byte(strings.TrimRight(label, " "))
	lines := 0
	for d := -relayRows; d <= relayRows; d++ {
		line, ok := p.w.Line(d)
		if !ok || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if lines++; !bytes.Contains(line[:min(len(line), 200)], core) {
			return false
		}
	}
	if lines < 6 {
		return false
	}
	p.advance(len(label))
	p.relayed, p.pinned, p.at = true, p.m.Stamp.Known(), outer
	return true
}

// relayRows is how many lines on each side must bear a relay's label.
const relayRows = 8

var relayForm = lazyre.New(`^\[?(?:INFO|DEBUG)\]?(?: +[\w.-]{1,40}:| +-)(?: |$)`)

func relayLabel(s string) string {
	if len(s) < 6 || strings.IndexByte("[ID", s[0]) < 0 {
		return ""
	}
	return relayForm.FindString(s)
}

// nodeLabel peels "node3: " of pdsh, clush and launchers built on them.
func (p *peeler) nodeLabel() bool {
	if p.at != outer || p.w == nil || p.m.Task != "" || p.m.Host != "" {
		return false
	}
	name, n := nameLabel(p.rest)
	if n == 0 {
		return false
	}
	v := p.poll(nameLabel)
	switch {
	case v.labelled*10 < v.lines*voteShare:
		return false
	case v.distinct == 1 && (v.labelled < 6 || v.labelled*10 < v.lines*9), v.distinct > 1 && v.labelled <= v.distinct:
		return false
	}
	p.m.addTask(name)
	if v.distinct > 1 {
		p.m.Host = name
	}
	p.advance(n)
	return true
}

// noNode are words with a number that count things of a program, not machines.
var noNode = lazyre.New(`(?i)^(?:step|epoch|iter(?:ation)?|batch|layer|stage|fold|run|loss|block|expert|cuda|gpu|device|card|test|line|part|level|top|val|eval|phase|chunk|shard|split|file|case|try|attempt|v|version|frame|thread|cpu|core|eth|ib|mlx\d*_?|en[ops]\w*|nvidia|nvme|sd[a-z]|tty\w*|frame_|[a-z])[_-]?\d+$`)

// nameLabel reads "node3: ": a host's name with a digit in it.
func nameLabel(s string) (string, int) {
	n, digit := 0, false
	for n < len(s) && n < 64 && (isAlnum(s[n]) || s[n] == '-' || s[n] == '.' || s[n] == '_') {
		digit = digit || isDigit(s[n])
		n++
	}
	if n < 2 || !digit || !isAlpha(s[0]) || n >= len(s) || s[n] != ':' {
		return "", 0
	}
	if n+1 < len(s) && s[n+1] != ' ' {
		return "", 0
	}
	name := s[:n]
	if noNode.MatchString(name) || strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Warning") || strings.HasSuffix(name, ".py") {
		return "", 0
	}
	return name, min(n+2, len(s))
}
