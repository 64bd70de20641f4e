package web

import (
	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// The engine writes the catalog's texts in one language, the daemon's; a page may be read
// in another. What it wrote is found again in the catalog.

// translated is a text of the catalog in a language, itself where it is none.
func (s *Server) translated(l, text string) string {
	if t, ok := s.texted()[text]; ok {
		return t.In(l)
	}
	return text
}

// meaning is what a line means, in the language where the tables have it.
func meaning(l string, e gpumedic.EvidenceOut) string {
	if en, zh := e.Fields["meaning_en"], e.Fields["meaning_zh"]; e.Note != "" && zh != "" && (e.Note == en || e.Note == zh) {
		return lang.Pick(l, en, zh)
	}
	return e.Note
}

// textsOf are the reasons of a catalog by their wording in each language.
func textsOf(c *catalog.Catalog) map[string]catalog.Text {
	out := map[string]catalog.Text{}
	if c == nil {
		return out
	}
	add := func(t catalog.Text) {
		if t.EN != "" && t.ZH != "" {
			out[t.EN], out[t.ZH] = t, t
		}
	}
	explains := func(list []catalog.Explains) {
		for _, x := range list {
			add(x.Why)
		}
	}
	for _, f := range c.Faults {
		for _, clues := range [][]catalog.Clue{f.Triggers, f.Needs, f.Supports, f.Against} {
			for _, k := range clues {
				add(k.Why)
			}
		}
		explains(f.Explains)
	}
	for _, g := range c.Groups {
		explains(g)
	}
	return out
}
