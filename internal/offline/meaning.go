package offline

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// tellMeanings says of each line that no fault explains what the line itself means: a
// number alone helps nobody, and "unexplained" is not "not understood".
func (d *Diagnoser) tellMeanings(list []gpumedic.Unexplained, lang string) {
	for i := range list {
		u := &list[i]
		if code, ok := strings.CutPrefix(u.Signal, "xid."); ok {
			n, err := strconv.Atoi(code)
			if err != nil {
				continue
			}
			if x, ok := d.tables.Xid(n); ok {
				u.Meaning, u.Check = x.Meaning.In(lang), x.CheckFor.In(lang)
			}
			continue
		}
		u.Meaning = d.meaning(u.Signal).In(lang)
	}
}

// meaning is that of the first matcher or rule of this kind. Kinds with parts from the
// line (svc.{svc}.failed) are left out: several matchers give them.
func (d *Diagnoser) meaning(kind string) catalog.Text {
	for i := range d.cat.Matchers {
		if d.cat.Matchers[i].Kind == kind {
			return d.cat.Matchers[i].Meaning
		}
	}
	for i := range d.cat.Readings {
		if d.cat.Readings[i].Kind == kind {
			return d.cat.Readings[i].Meaning
		}
	}
	return catalog.Text{}
}
