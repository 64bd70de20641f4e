package alert

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumedic/gpumedic/internal/promql"
)

// template is an annotation: plain text with the few fillings that the rules use. What it
// does not know is an error when the rule is read. Go's text/template would take any text
// and fail in the night.
type template []piece

type piece struct {
	text  string // plain
	label string // {{ $labels.x }}
	or    string // {{ or $labels.x "text" }}
	value bool   // {{ $value }}
	human string // {{ $value | humanize }}
}

func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		plain, rest, open := strings.Cut(s, "{{")
		if plain != "" {
			t = append(t, piece{text: plain})
		}
		if !open {
			break
		}
		inner, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, fmt.Errorf("{{ without }}")
		}
		p, err := parsePiece(strings.TrimSpace(inner))
		if err != nil {
			return nil, err
		}
		t, s = append(t, p), after
	}
	return t, nil
}

func parsePiece(s string) (piece, error) {
	word, pipe, piped := strings.Cut(s, "|")
	word, pipe = strings.TrimSpace(word), strings.TrimSpace(pipe)
	if word == "$value" {
		if _, known := humans[pipe]; piped && !known {
			return piece{}, fmt.Errorf("{{ %s }}: unknown form", s)
		}
		return piece{value: true, human: pipe}, nil
	}
	var p piece
	if rest, ok := strings.CutPrefix(word, "or "); ok {
		label, text, found := strings.Cut(strings.TrimSpace(rest), " ")
		text = strings.TrimSpace(text)
		if !found || len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
			return p, fmt.Errorf("{{ %s }}: want a label and a text", s)
		}
		word, p.or = label, text[1:len(text)-1]
	}
	label, ok := strings.CutPrefix(word, "$labels.")
	if !ok || piped || label == "" || strings.ContainsAny(label, " .()") {
		return p, fmt.Errorf("{{ %s }} is not understood", s)
	}
	p.label = label
	return p, nil
}

// fill puts in labels and value.
func (t template) fill(l promql.Labels, v float64) string {
	var b strings.Builder
	for _, p := range t {
		switch {
		case p.value && p.human == "":
			fmt.Fprint(&b, v)
		case p.value:
			b.WriteString(humans[p.human](v))
		case p.label != "":
			s := l.Get(p.label)
			if s == "" {
				s = p.or
			}
			b.WriteString(s)
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// humans are Prometheus' forms of numbers.
var humans = map[string]func(float64) string{
	"humanize":           humanize,
	"humanizePercentage": func(v float64) string { return fmt.Sprintf("%.4g%%", v*100) },
	"humanizeDuration":   humanizeDuration,
}

func humanize(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%.4g", v)
	}
	prefix := ""
	if math.Abs(v) >= 1 {
		for _, p := range []string{"k", "M", "G", "T", "P", "E", "Z", "Y"} {
			if math.Abs(v) < 1000 {
				break
			}
			prefix, v = p, v/1000
		}
	} else {
		for _, p := range []string{"m", "u", "n", "p", "f", "a", "z", "y"} {
			if math.Abs(v) >= 1 {
				break
			}
			prefix, v = p, v*1000
		}
	}
	return fmt.Sprintf("%.4g%s", v, prefix)
}

func humanizeDuration(v float64) string {
	if math.Abs(v) < 1 || math.IsNaN(v) || math.IsInf(v, 0) {
		return humanize(v) + "s"
	}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	n := int64(v)
	d, h, m, s := n/86400, n/3600%24, n/60%60, n%60
	switch {
	case d > 0:
		return fmt.Sprintf("%s%dd %dh %dm %ds", sign, d, h, m, s)
	case h > 0:
		return fmt.Sprintf("%s%dh %dm %ds", sign, h, m, s)
	case m > 0:
		return fmt.Sprintf("%s%dm %ds", sign, m, s)
	}
	return fmt.Sprintf("%s%.4gs", sign, v)
}
