package frame

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// searchPrefix is what grep puts before a line: its number ("16:", "16-" for context),
// its file, or both.
var searchPrefix = lazyre.New(`^(?:([\w.+@/-]*/[\w.+@-]+|[\w.+@-]+\.(?:log|txt|out|err|json|dmesg|journal)(?:[.-]\d{1,9})?|messages|syslog|dmesg|kern|journal)(?::|-(\d{1,9})-))?(?:(\d{1,9})[:-])?`)

// found peels the prefix of a search when the line behind it begins with framing of
// its own: "16:Mar 11 09:15:57 …", "kern.log:16:kern  :err   : …", or when a neighbour
// bears it too. A launcher's "3: " has a blank behind it.
func (p *peeler) found() bool { return p.foundIn(2) }

// foundIn does it for a search within the output of another, up to a depth.
func (p *peeler) foundIn(depth int) bool {
	s := p.rest
	head := s[:min(len(s), 160)]
	if sp := strings.IndexAny(head, " \t{<\""); sp >= 0 {
		head = head[:sp]
	}
	if strings.IndexByte(head, ':') <= 0 && strings.IndexByte(head, '-') <= 0 {
		return false
	}
	mark := searchLabel(s)
	n := mark.all
	if n == 0 || n >= len(s) {
		return false
	}
	inner := newPeeler(nil, s[n:])
	switch {
	case s[n] != ' ' && s[n] != '\t' && (startsMessage(s[n:]) || inner.outerLayer() || depth > 1 && inner.foundIn(depth-1)):
		p.takeLabel(s[:n])
		p.advance(n)
		return true
	case mark.number >= 0 && mark.name == "" && s[n] == ' ', mark.name != "" && !logName.MatchString(mark.name):
		return false // an enumeration, a compiler's message
	}
	return p.searched()
}

// logName recognises files that hold logs and output.
var logName = lazyre.New(`(?:\.(?:log|txt|out|err|json|dmesg|journal)(?:[.-]\d{1,9})?|(?:^|/)(?:messages|syslog|dmesg|kern|journal))$`)
