package explain

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/decode"
)

// xid is the page of an Xid; text is the rest of a log line, decoded when given.
func (b *book) xid(code int, text string) (Page, bool) {
	x, ok := b.t.Xid(code)
	key := "xid." + strconv.Itoa(code)
	if !ok {
		p := Page{Kind: KindXid, Key: key, Title: fmt.Sprintf(b.say("unknownXid"), code), Meaning: b.say("unknownXidText"), Action: "monitor"}
		b.uses(&p, key)
		return p, true
	}
	p := Page{
		Kind: KindXid, Key: key, Title: "Xid " + strconv.Itoa(code) + b.colon() + firstClause(b.in(x.Meaning)),
		Name: x.Mnemonic, Meaning: b.in(x.Meaning), Class: x.Classes, Level: x.Level.String(), Low: x.Low,
		Action: x.Action, Check: b.in(x.CheckFor), Sources: x.Sources,
	}
	if c := b.in(x.Causes); c != "" {
		p.Causes = []Cause{{Cause: c}}
	}
	b.facts(&p, x)
	b.decoded(&p, key, text)
	b.buckets(&p, x)
	for _, f := range x.Follows {
		p.Follows = append(p.Follows, Ref{Key: f, Title: b.titleOf(f)})
	}
	if text == "" { // a line has its own decoding
		b.units(&p, code)
	}
	b.uses(&p, key)
	b.myths(&p, key)
	return p, true
}

func (b *book) facts(p *Page, x *catalog.Xid) {
	if len(x.Applies) > 0 && x.Applies[0] != "unknown" && x.Applies[0] != "none" {
		p.fact(b.say("applies"), strings.ReplaceAll(strings.Join(x.Applies, ", "), "B100", "B100/B200"))
	}
	switch v := x.Verdict154; v {
	case "":
	case "always":
		p.fact("Xid 154", b.say("verdictAlways"))
	default:
		p.fact("Xid 154", fmt.Sprintf(b.say("verdictFrom"), v))
	}
}

// decoded adds what a log line says beyond its number.
func (b *book) decoded(p *Page, key, text string) {
	if text == "" {
		return
	}
	name, code, _ := strings.Cut(key, ".")
	s := &gpumedic.Signal{Kind: key, Fields: map[string]string{"code": code, "text": text}}
	decode.New(b.t).Decode(name, s)
	known := []string{"code", "text", "catalogued", "class", "classes", "mnemonic", "immediate", "investigatory", "action", "name", "recovery_from", "table_confidence"}
	var keys []string
	for k := range s.Fields {
		if !slices.Contains(known, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		v := s.Fields[k]
		if k == "link_down_reason" {
			if r, ok := b.t.LinkReason(number(v)); ok {
				v += b.colon() + b.in(r.Meaning)
			}
		}
		p.fact(k, v)
	}
	if a := s.Fields["action"]; a != "" {
		p.Action = a
	}
}

func (b *book) buckets(p *Page, x *catalog.Xid) {
	for _, s := range []struct{ when, id string }{{b.say("atOnce"), x.Immediate}, {b.say("ifAgain"), x.Investigatory}} {
		bk, ok := b.t.Bucket(s.id)
		if !ok || s.id == "unused" || s.when == b.say("ifAgain") && x.Immediate == x.Investigatory {
			continue
		}
		p.Steps = append(p.Steps, Step{When: s.when, Text: b.in(bk.Meaning) + b.paren(strings.ToUpper(bk.ID)), Detail: b.in(bk.Steps)})
		p.Sources = addMissing(p.Sources, bk.Sources...)
	}
}

// units lists the sub-codes of NVLink 5, the bits of Xid 74, the verdicts of Xid 154.
func (b *book) units(p *Page, code int) {
	switch {
	case code == 154:
		for _, r := range b.t.Recoveries() {
			p.Units = append(p.Units, Unit{Name: strconv.Itoa(r.Code) + " " + r.Names[0], Action: r.Action, Text: b.in(r.Meaning)})
		}
	case code == 74:
		b.bits(p)
	}
	b.nvlink5(p, code)
}

// nvlink5 lists the sub-codes of one Xid: status words that mean the same share a row.
func (b *book) nvlink5(p *Page, code int) {
	inferred := false
	for _, r := range b.t.NVLink5Rows(code) {
		u := Unit{Name: strings.ToUpper(r.Unit), Severity: r.Severity, Words: wordsOf(r)}
		if bk, ok := b.t.Bucket(r.Immediate); ok {
			u.Action = bk.Action
		}
		if r.Immediate == "xid_154_eval" {
			u.Text = b.say("unless154")
		}
		// A row with a bit above the sub-code is the special case of its neighbour.
		if old, now := r.OldValue&^0x03f003ff, r.NewValue&^0x03f0007f; old != 0 || now != 0 {
			u.Text = fmt.Sprintf(b.say("bitSet"), bits.TrailingZeros32(old), bits.TrailingZeros32(now))
		}
		if reason, ok := b.t.LinkReason(r.Reason); ok {
			u.Name = fmt.Sprintf(b.say("reason"), r.Reason)
			u.Text = b.in(reason.Meaning)
			inferred = inferred || reason.Low
		}
		if n := len(p.Units); n > 0 && u.Words != "" {
			last := &p.Units[n-1]
			if last.Name == u.Name && last.Severity == u.Severity && last.Action == u.Action && last.Text == u.Text {
				last.Words += " " + u.Words
				continue
			}
		}
		p.Units = append(p.Units, u)
	}
	if inferred {
		p.fact(b.say("note"), b.say("reasonNote"))
	}
}

func wordsOf(r *catalog.NVLink5) string {
	if r.AnyStatus {
		return ""
	}
	return fmt.Sprintf("0x%x", r.ErrStatus)
}

func (b *book) bits(p *Page) {
	for word := range 7 {
		byVerdict := map[string][]string{}
		for bit := range 32 {
			if v := b.t.NVLink4Bit(word, bit); v != "unlisted" {
				byVerdict[v] = append(byVerdict[v], strconv.Itoa(bit))
			}
		}
		for _, v := range catalog.LinkVerdicts {
			if list := byVerdict[v]; list != nil {
				p.Units = append(p.Units, Unit{Name: fmt.Sprintf(b.say("register"), word+1), Words: strings.Join(list, ","), Text: b.say("bit_" + v)})
			}
		}
	}
}
