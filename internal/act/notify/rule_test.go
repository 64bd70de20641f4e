package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

// ruleNotice is a notice of an alert that is no incident.
func ruleNotice(id, alert int64, kind Kind) Notice {
	index := 2
	n := Notice{
		ID: id, Alert: &Alert{ID: alert, Name: "GPUMemoryFullAndIdle"}, Kind: kind, Severity: "info", Fault: "gpu-memory-retained", Class: "resource",
		Subject: gpumedic.Subject{Node: "gpu-a7", GPU: gpumedic.GPU{PCI: "0000:3b:00.0", Index: &index}},
		Texts: map[string]Text{
			"en": {Title: "Memory of GPU 2 (0000:3b:00.0) on gpu-a7 is held and nobody computes", Headline: "97% in use without work for 10 minutes."},
			"zh": {Title: "gpu-a7 的 GPU 2（0000:3b:00.0）显存被占用但没有计算", Headline: "占用 97%，且 10 分钟没有计算。"},
		},
		At: t0, Opened: t0, Labels: map[string]string{"zone": "b"},
	}
	if kind == Closed {
		n.Closed = t0.Add(time.Hour)
	}
	return n
}

func TestAlertOfARuleInWords(t *testing.T) {
	for _, c := range []struct {
		lang  string
		kind  Kind
		title string
		text  []string
	}{
		{"en", Opened, "[gpumedic] INFO · firing · GPUMemoryFullAndIdle · gpu-a7 · Memory of GPU 2 (0000:3b:00.0) on gpu-a7 is held and nobody computes",
			[]string{"97% in use", "GPU: 2 (0000:3b:00.0)", "since: 2026"}},
		{"zh", Closed, "[gpumedic] 提示 · 告警恢复 · GPUMemoryFullAndIdle · gpu-a7 · gpu-a7 的 GPU 2（0000:3b:00.0）显存被占用但没有计算",
			[]string{"占用 97%", "持续：1h0m"}},
	} {
		m := compose(&batch{Notices: []Notice{ruleNotice(1, 4, c.kind)}}, c.lang)
		if m.Title != c.title {
			t.Errorf("title %q", m.Title)
		}
		for _, part := range c.text {
			if text := m.plain(maxText, true); !strings.Contains(text, part) {
				t.Errorf("%q is not in\n%s", part, text)
			}
		}
	}
	m := compose(&batch{Notices: []Notice{ruleNotice(1, 4, Opened), notice(2, 4, Opened)}}, "en")
	if text := m.plain(maxText, true); !strings.Contains(text, "GPUMemoryFullAndIdle firing · INFO") || !strings.Contains(text, "#4 ") {
		t.Errorf("together:\n%s", text)
	}
}

// TestAlertsAndIncidentsAreApart: an alert with the number of an incident is another
// thing, in the queue and for Alertmanager.
func TestAlertsAndIncidentsAreApart(t *testing.T) {
	g, r, _ := amRig(t, nil)
	g.put(notice(1, 4, Opened), ruleNotice(2, 4, Opened), notice(3, 4, Closed))
	g.drain(0)
	g.at = g.at.Add(2 * time.Minute)
	g.drain(0) // what is open is told again
	all := posted(t, r)
	last := all[len(all)-1]
	if len(last) != 1 || last[0].Labels["alertname"] != "GPUMemoryFullAndIdle" || last[0].Labels["fault"] != "gpu-memory-retained" || last[0].Labels["incident"] != "" ||
		last[0].Labels["zone"] != "b" || last[0].Annotations["summary"] != ruleNotice(1, 1, Opened).Texts["en"].Title || !last[0].EndsAt.After(g.at) {
		t.Errorf("open: %+v", last)
	}
	g.put(ruleNotice(4, 4, Closed))
	g.drain(0)
	all = posted(t, r)
	if end := all[0][0].EndsAt; !end.Equal(t0.Add(time.Hour)) {
		t.Errorf("resolved at %s", end)
	}
	g.at = g.at.Add(2 * time.Minute)
	g.drain(0)
	if as := posted(t, r); len(as) != 0 {
		t.Errorf("told again: %v", as)
	}
}

func TestInvalidAlert(t *testing.T) {
	for _, change := range []func(*Notice){
		func(n *Notice) { n.Alert = nil }, func(n *Notice) { n.Alert.ID = 0 }, func(n *Notice) { n.Alert.Name = "" }, func(n *Notice) { n.Incident = 3 },
	} {
		n := ruleNotice(1, 4, Opened)
		change(&n)
		if n.Valid() == nil {
			t.Errorf("valid: %+v", n)
		}
	}
}
