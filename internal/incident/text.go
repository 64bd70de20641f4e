package incident

import (
	"cmp"
	"fmt"
	"time"
)

// text is a reason in both languages; what a person wrote stays as it is.
type text struct{ en, zh string }

func plain(s string) text { return text{en: s} }

// say formats both. An argument that is a text itself is put in by language.
func say(en, zh string, args ...any) text {
	pick := func(f func(text) string) []any {
		out := make([]any, len(args))
		for n, a := range args {
			out[n] = a
			if t, ok := a.(text); ok {
				out[n] = f(t)
			}
		}
		return out
	}
	return text{
		en: fmt.Sprintf(en, pick(func(t text) string { return t.en })...),
		zh: fmt.Sprintf(zh, pick(func(t text) string { return cmp.Or(t.zh, t.en) })...),
	}
}

// lasting is a span as people say it.
func lasting(d time.Duration) text {
	switch {
	case d < 2*time.Minute:
		return say("%d s", "%d 秒", int(d.Round(time.Second).Seconds()))
	case d < 2*time.Hour:
		return say("%d min", "%d 分钟", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return say("%d h", "%d 小时", int(d.Round(time.Hour).Hours()))
	}
	return say("%d days", "%d 天", int(d.Hours()/24))
}

// fromTo is the detail of what changed from one word to another.
func fromTo(from, to string) map[string]any { return map[string]any{"from": from, "to": to} }
