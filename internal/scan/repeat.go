package scan

import (
	"strconv"

	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// repeatLiteral is in the lines by which classic loggers say that their last line
// came again.
const repeatLiteral = "last message "

var repeatedPattern = lazyre.New(`^(?:-+ ?)?last message (?:repeated|buffered) (\d{1,9}) times?`)

// repeatBack is how many rows back the line is looked for that came again: a log
// that gathers several hosts has lines of others in between.
const repeatBack = 8

// recentHit remembers which signals a row gave.
type recentHit struct {
	row   int
	entry *entry
}

func (x *input) remember(row int, e *entry) {
	keep := x.recent[:0]
	for _, r := range x.recent {
		if r.row >= row-repeatBack {
			keep = append(keep, r)
		}
	}
	x.recent = append(keep, recentHit{row, e})
}

// repeated handles "last message repeated N times": the signals of the last record
// of that host are counted N times more.
func (x *input) repeated(p place, msg *frame.Message) bool {
	m := repeatedPattern.FindStringSubmatch(msg.Text)
	if m == nil {
		return false
	}
	n, _ := strconv.Atoi(m[1])
	for back := 1; back <= repeatBack && p.row-back >= 0; back++ {
		prev, ok := x.fr.at(p.row-back, p.rowOff)
		if !ok {
			break
		}
		if len(prev) == 0 || prev[0].Host != msg.Host || repeatedPattern.MatchString(prev[0].Text) {
			continue
		}
		for _, r := range x.recent {
			if r.row == p.row-back {
				r.entry.bump(p.line, msg.Stamp, n)
			}
		}
		break
	}
	return true
}
