package notify

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// wants reports whether one of a channel's rules fits a notice.
func (ch *Channel) wants(n *Notice) bool {
	if len(ch.Match) == 0 {
		return true
	}
	for i := range ch.Match {
		if ch.Match[i].fits(n) {
			return true
		}
	}
	return false
}

func (m *Match) fits(n *Notice) bool {
	return severityRank(n.Severity) >= severityRank(m.MinSeverity) &&
		oneOf(m.Fault, n.Fault) && oneOf(m.Class, n.Class) && oneOf(m.Node, n.Subject.Node) && oneOf(m.Kind, string(n.Kind))
}

// tells reports whether the kind is one that some rule of the channel lets through. A
// channel that was told of an incident is also told how it goes on, also when its
// severity fell below the rule meanwhile, but not of kinds that it never wants.
func (ch *Channel) tells(k Kind) bool {
	for i := range ch.Match {
		if oneOf(ch.Match[i].Kind, string(k)) {
			return true
		}
	}
	return len(ch.Match) == 0
}

func oneOf(patterns []string, s string) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		if ok, _ := path.Match(p, s); ok {
			return true
		}
	}
	return false
}

// quietHours are the compiled form of Quiet.
type quietHours struct {
	from, to time.Duration // since midnight
	zone     *time.Location
	days     [7]bool
	except   int
}

var dayNames = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (q *Quiet) compile() (*quietHours, error) {
	h := &quietHours{zone: time.Local, except: severityRank(gpumedic.SeverityCritical)}
	if q.Except != "" {
		h.except = severityRank(q.Except)
	}
	var err error
	if h.from, err = clock(q.From); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	if h.to, err = clock(q.To); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	if h.from == h.to {
		return nil, errors.New("from and to are equal")
	}
	if q.Zone != "" {
		if h.zone, err = time.LoadLocation(q.Zone); err != nil {
			return nil, fmt.Errorf("zone: unknown time zone %q", q.Zone)
		}
	}
	for i := range h.days {
		h.days[i] = len(q.Days) == 0
	}
	for _, d := range q.Days {
		found := false
		for i, name := range dayNames {
			if strings.EqualFold(d, name) {
				h.days[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("days: %q is none of mon, tue, wed, thu, fri, sat, sun", d)
		}
	}
	return h, nil
}

// Until is the end of the hours that now lies in; zero when it lies in none.
func (q *Quiet) Until(now time.Time) (time.Time, error) {
	h, err := q.compile()
	if err != nil {
		return time.Time{}, err
	}
	return h.until(now), nil
}

func clock(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as 22:00", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// until is the end of the quiet hours that now lies in; zero when it lies in none.
func (h *quietHours) until(now time.Time) time.Time {
	t := now.In(h.zone)
	for back := 0; back <= 1; back++ { // begun today, or yesterday
		day := time.Date(t.Year(), t.Month(), t.Day()-back, 0, 0, 0, 0, h.zone)
		if !h.days[day.Weekday()] {
			continue
		}
		// Through time.Date rather than by adding hours: a day of a clock change has 23 or 25.
		begin := onDay(day, h.from, 0)
		end := onDay(day, h.to, 0)
		if h.to < h.from {
			end = onDay(day, h.to, 1)
		}
		if !t.Before(begin) && t.Before(end) {
			return end
		}
	}
	return time.Time{}
}

func onDay(day time.Time, at time.Duration, plus int) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day()+plus, int(at.Hours()), int(at.Minutes())%60, 0, 0, day.Location())
}
