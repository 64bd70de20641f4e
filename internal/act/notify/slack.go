package notify

import (
	"context"
	"encoding/json"
	"strings"
)

// slack speaks to incoming webhooks of Slack, and of Mattermost and Rocket.Chat, which
// take the same `text`.
type slack struct {
	*client
}

// Slack cuts a text at 40,000 characters and asks for at most 4,000.
const maxSlack = 3900

func newSlack(e *env) sender { return &slack{&client{ch: e.ch, now: e.now}} }

func (k *slack) send(ctx context.Context, b *batch, s *secrets) error {
	body := marshal(map[string]any{"text": slackText(compose(b, k.ch.Language)), "unfurl_links": false})
	a, err := k.post(ctx, s, s.url, body, nil)
	if err != nil {
		return err
	}
	var r struct { // Slack and Mattermost answer "ok", Rocket.Chat with JSON
		OK      *bool  `json:"ok"`
		Success *bool  `json:"success"`
		Error   string `json:"error"`
	}
	if json.Unmarshal(a.body, &r) == nil && (r.OK != nil && !*r.OK || r.Success != nil && !*r.Success) {
		return failf(refused, "%s", cut(oneLine(r.Error), 200))
	}
	if t := strings.ToLower(strings.TrimSpace(string(a.body))); strings.HasPrefix(t, "<!doctype") || strings.HasPrefix(t, "<html") {
		return failf(tryLater, "answer is a web page, not that of the service")
	}
	return nil
}

func slackText(m *message) string {
	parts := []string{"*" + slackEscape(strings.ReplaceAll(m.Title, "*", "")) + "*"}
	for _, l := range m.Lines {
		text := slackEscape(l.Text)
		if l.Code {
			text = "`" + strings.ReplaceAll(text, "`", "'") + "`"
		}
		if l.Label != "" {
			text = l.Label + colon(m.Lang) + text
		}
		parts = append(parts, text)
	}
	end := ""
	if m.Link != "" {
		end = "<" + slackLink(m.Link) + "|" + say(m.Lang, wDetails) + ">"
	}
	return fit(parts, end, maxSlack)
}

// slackEscape takes the meaning from the three characters that have one in Slack, and
// from the words that wake a whole channel elsewhere: a process chooses its own name.
func slackEscape(s string) string {
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
	for _, w := range []string{"@channel", "@here", "@everyone", "@all"} {
		s = strings.ReplaceAll(s, w, "@\u200b"+w[1:])
	}
	return s
}

func slackLink(u string) string {
	return strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace(u)
}
