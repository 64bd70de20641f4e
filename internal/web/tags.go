package web

import (
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/lang"
)

// timeTag is a moment with its machine form.
func (s *Server) timeTag(t time.Time) template.HTML { return timeTag(t, s.clock(t)) }

func timeTag(t time.Time, text string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + template.HTMLEscapeString(text) + `</time>`)
}

// agoTag is a moment by its distance; the script counts on.
func (s *Server) agoTag(l string, now, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	d := now.Sub(t)
	text := fmt.Sprintf(lang.Pick(l, "%s ago", "%s前"), span(l, d))
	if d < 0 {
		text = fmt.Sprintf(lang.Pick(l, "in %s", "%s后"), span(l, -d))
	}
	return template.HTML(`<time data-ago datetime="` + t.UTC().Format(time.RFC3339Nano) + `" title="` + template.HTMLEscapeString(s.clock(t)) + `">` +
		template.HTMLEscapeString(text) + `</time>`)
}

// zoneName is the time zone of all times of the page.
func (s *Server) zoneName(now time.Time) string {
	name, _ := now.In(s.Zone).Zone()
	offset := "UTC" + now.In(s.Zone).Format("-07:00")
	if name == "UTC" || name == "" || strings.ContainsAny(name[:1], "+-") {
		if strings.HasSuffix(offset, "00:00") {
			return "UTC"
		}
		return offset
	}
	return name + " (" + offset + ")"
}

// seconds is a duration of a reading: 12 ms, 1.3 s.
func seconds(l string, sec float64) string {
	switch {
	case sec <= 0:
		return "–"
	case sec < 0.001:
		return lang.Pick(l, "under 1 ms", "不足 1 毫秒")
	case sec < 1:
		return fmt.Sprintf(lang.Pick(l, "%.0f ms", "%.0f 毫秒"), sec*1000)
	case sec < 120:
		return fmt.Sprintf(lang.Pick(l, "%.1f s", "%.1f 秒"), sec)
	}
	return span(l, time.Duration(sec*float64(time.Second)))
}

func gpuState(l, state string) string {
	if l != "zh" {
		return state
	}
	if t := map[string]string{"ok": "正常", "warning": "警告", "fault": "故障", "unknown": "无法判断"}[state]; t != "" {
		return t
	}
	return state
}

// faultTitle is the title of a fault by its id.
func (s *Server) faultTitle(l string) func(string) string {
	return func(id string) string {
		if s.Catalog != nil {
			if f := s.Catalog.Faults[id]; f != nil {
				return f.Title.In(l)
			}
		}
		return id
	}
}

// shapes tell states apart without colour: each has a form of its own.
var shapes = map[string]string{
	"ok":      `<circle cx="8" cy="8" r="6.5"/><path class="ink" d="M5 8.2 7.2 10.4 11 5.8"/>`,
	"warning": `<path d="M8 1.2 15.2 14.4H.8Z"/><path class="ink" d="M8 6v4M8 12.2v.2"/>`,
	"fault":   `<path d="M4.9 1h6.2L15 4.9v6.2L11.1 15H4.9L1 11.1V4.9Z"/><path class="ink" d="m5.5 5.5 5 5m0-5-5 5"/>`,
	"unknown": `<rect x="1.5" y="1.5" width="13" height="13" rx="2"/><path class="ink" d="M6 6.2c0-2.6 4-2.6 4 0 0 1.6-2 1.6-2 3.2M8 11.8v.2"/>`,
	"off":     `<circle class="hollow" cx="8" cy="8" r="5.5"/>`,
}

// icon is the shape of a state; the word stands beside it.
func icon(state string) template.HTML {
	switch state {
	case "critical", "error", "down", "overdue", "failed", "fault":
		state = "fault"
	case "warning", "stale", "soon":
		state = "warning"
	case "ok", "passed":
		state = "ok"
	case "info", "off", "starting":
		state = "off"
	default:
		state = "unknown"
	}
	return template.HTML(`<svg class="icon i-` + state + `" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">` + shapes[state] + `</svg>`)
}

// shortPCI drops the domain that says nothing.
func shortPCI(pci string) string { return strings.TrimPrefix(pci, "0000:") }

// thousands writes 800000 as 800,000.
func thousands(n any) (string, error) {
	s := fmt.Sprint(n)
	if _, err := strconv.ParseInt(s, 10, 64); err != nil {
		return "", err
	}
	for k := len(s) - 3; k > 0 && s[k-1] != '-'; k -= 3 {
		s = s[:k] + "," + s[k:]
	}
	return s, nil
}

// dict passes several values to a part.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("call dict: a value is missing")
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		k, ok := pairs[i].(string)
		if !ok {
			return nil, errors.New("call dict: a name is no text")
		}
		m[k] = pairs[i+1]
	}
	return m, nil
}
