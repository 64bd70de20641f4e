package notify

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpumedic/gpumedic/internal/golden"
)

// TestTexts shows what people read; the golden file is for reviewers.
func TestTexts(t *testing.T) {
	closed := notice(4, 12, Closed)
	closed.Closed, closed.Reason = t0.Add(95*time.Minute), "verified: 30 minutes under load without an error"
	worse := notice(2, 12, Escalated)
	worse.Count = 3
	other := notice(3, 13, Opened)
	other.Severity = "warning"
	other.Texts = map[string]Text{"en": {Title: "NVLink degraded", Headline: "link 4 of GPU 5 runs with retries"}, "zh": {Title: "NVLink 降级", Headline: "GPU 5 的 4 号链路重传增多"}}
	bare := Notice{ID: 9, Incident: 99, Kind: Opened, Severity: "info", Fault: "unknown-xid", At: t0, Opened: t0}
	var out strings.Builder
	for _, lang := range []string{"en", "zh"} {
		for _, c := range []struct {
			name string
			b    batch
		}{
			{"opened", batch{Notices: []Notice{notice(1, 12, Opened)}}},
			{"escalated, late", batch{Notices: []Notice{worse}, Late: true}},
			{"closed", batch{Notices: []Notice{closed}}},
			{"group", batch{Notices: []Notice{other, notice(1, 12, Opened), worse}}},
			{"nothing known", batch{Notices: []Notice{bare}}},
		} {
			out.WriteString("== " + lang + " " + c.name + "\n" + compose(&c.b, lang).plain(4000, true) + "\n\n")
		}
		out.WriteString("== " + lang + " slack\n" + slackText(compose(&batch{Notices: []Notice{notice(1, 12, Opened)}}, lang)) + "\n\n")
	}
	golden.Check(t, "testdata/texts.txt", []byte(out.String()))
}

// FuzzBounds: whatever a process or a log line puts into a notice, a message keeps its
// bounds, is valid UTF-8 and keeps its link.
func FuzzBounds(f *testing.F) {
	f.Add("gpu-a7", "python", "GPU lost", "reboot", 2048, false)
	f.Add("n\xff\u202e", strings.Repeat("长", 4000), strings.Repeat("x", 9000), "a\r\nb\x00", 60, true)
	f.Fuzz(func(t *testing.T, node, process, headline, command string, max int, many bool) {
		max = 16 + (max&0x7fffffff)%8000
		n := notice(1, 12, Opened)
		n.Subject.Node, n.Subject.Process.Name = node, process
		n.Labels["pod"] = command
		text := n.Texts["zh"]
		text.Headline, text.Remedy.Command = headline, command
		n.Texts["zh"] = text
		b := &batch{Notices: []Notice{n}}
		if many {
			for i := range int64(60) {
				n.Incident = 100 + i
				b.Notices = append(b.Notices, n)
			}
		}
		m := compose(b, "zh")
		for name, s := range map[string]string{"plain": m.plain(max, true), "slack": slackText(m), "title": m.Title} {
			limit := map[string]int{"plain": max, "slack": maxSlack, "title": maxTitle}[name]
			if len(s) > limit {
				t.Errorf("%s: %d bytes, limit %d", name, len(s), limit)
			}
			if !utf8.ValidString(s) {
				t.Errorf("%s is not UTF-8: %q", name, s)
			}
			if strings.ContainsAny(s, "\r\x00\u202e") || name == "title" && strings.Contains(s, "\n") {
				t.Errorf("%s has control characters: %q", name, s)
			}
		}
		if s := m.plain(2048, true); !strings.HasSuffix(s, "/incidents/12") {
			t.Errorf("the link was cut: %q", s)
		}
	})
}
