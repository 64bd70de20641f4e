package explain

import (
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
)

// setting is the page of an environment variable, an option, a limit of the host.
func (b *book) setting(s *catalog.Setting) Page {
	p := Page{
		Kind: KindSetting, Key: s.Name, Name: s.Name, Low: s.Low, Sources: s.Sources, Meaning: b.in(s.Meaning),
		Title: s.Name + b.colon() + s.Component + " " + b.say("kind_"+s.Kind),
	}
	p.fact(b.say("usable"), b.say("st_"+s.Status))
	p.fact(b.say("instead"), strings.Join(s.Instead, ", "))
	p.fact(b.say("since"), s.Since)
	p.fact(b.say("until"), s.Until)
	p.fact(b.say("default"), s.Default)
	p.fact(b.say("safe"), s.Safe)
	p.fact(b.say("others"), strings.Join(s.Aliases, ", "))
	p.fact(b.say("harm"), b.in(s.Harm))
	if a := b.in(s.Advice); a != "" {
		p.Steps = append(p.Steps, Step{Text: a})
	}
	for _, n := range s.Instead {
		if x, ok := b.t.Setting(n); ok {
			p.Suggestions = append(p.Suggestions, Suggestion{x.Name, b.in(x.Meaning)})
		}
	}
	b.myths(&p, s.Name)
	return p
}

// settingNamed answers for a name, also with a value ("NCCL_IB_DISABLE=1") or behind
// a word ("env NCCL_DEBUG", "export NCCL_DEBUG=INFO").
func (b *book) settingNamed(q string) (Page, bool) {
	for _, lead := range []string{"", "env ", "export ", "setting ", "option ", "set "} {
		if rest, ok := strings.CutPrefix(q, lead); ok {
			if s, ok := b.t.Setting(rest); ok {
				return b.setting(s), true
			}
		}
	}
	return Page{}, false
}
