package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/decode"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// sxid is the page of an NVSwitch error.
func (b *book) sxid(code int, text string) (Page, bool) {
	x, ok := b.t.SXid(code)
	key := "sxid." + strconv.Itoa(code)
	if !ok {
		p := Page{Kind: KindSXid, Key: key, Title: fmt.Sprintf(b.say("unknownSXid"), code), Meaning: b.say("unknownSXidText"), Action: "monitor"}
		b.uses(&p, key)
		return p, true
	}
	p := Page{
		Kind: KindSXid, Key: key, Title: "SXid " + strconv.Itoa(code) + b.colon() + b.in(x.Meaning), Name: x.Name,
		Meaning: b.in(x.Meaning), Class: []string{"interconnect"}, Level: x.Level.String(), Action: x.Action, Sources: x.Sources,
	}
	p.fact(b.say("fatality"), b.say("fat_"+x.Fatality))
	if i := b.in(x.Impact); i != "" {
		p.fact(b.say("impact"), i)
	}
	b.printed(&p, "NVSwitch 2 (A100)", x.Switch2)
	b.printed(&p, "NVSwitch 3 (H100)", x.Switch3)
	b.decoded(&p, key, text)
	if a := b.in(x.Advice); a != "" {
		p.Steps = append(p.Steps, Step{Text: a})
	}
	p.Check = b.say("sxidWord")
	b.uses(&p, key)
	b.myths(&p, key)
	return p, true
}

func (b *book) printed(p *Page, chip, word string) {
	switch word {
	case "fatal":
		p.fact(chip, "Fatal")
	case "nonfatal":
		p.fact(chip, "Non-fatal")
	case "both":
		p.fact(chip, "Non-fatal / Fatal")
	case "contained":
		p.fact(chip, b.say("containedWord"))
	}
}

var apiNames = map[string]string{
	"driver": "CUDA", "runtime": "CUDA", "runtime-legacy": "CUDA (< 10.1)", "nvml": "NVML", "nccl": "NCCL", "nccl-log": "NCCL",
	"pytorch": "PyTorch NCCL", "cudnn9": "cuDNN 9", "cudnn8": "cuDNN 8", "cublas": "cuBLAS",
}

// code is the page of a library's return code.
func (b *book) code(c *catalog.Code) Page {
	name := apiNames[c.API]
	p := Page{Kind: KindCode, Key: c.Kind(), Name: c.Symbol, Meaning: b.in(c.Meaning), Class: []string{c.Class}, Action: c.Action, Low: c.Low, Sources: c.Sources}
	p.Title = name
	if c.Number >= 0 {
		p.Title += " " + strconv.Itoa(c.Number)
	}
	p.Title += b.colon() + c.Symbol
	if p.Key == "" {
		p.Key = codeKey(c)
	}
	if c.Message != "" {
		p.fact(b.say("message"), c.Message)
	}
	b.otherName(&p, c)
	switch c.Sticky {
	case "yes":
		p.fact(b.say("sticky"), b.say("stickyYes"))
	case "unknown":
		p.fact(b.say("sticky"), b.say("stickyUnknown"))
	}
	if c.Since != "" && !strings.HasPrefix(c.Since, "<=") && !strings.HasPrefix(c.Since, "all") {
		p.fact(b.say("since"), c.Since)
	}
	if f := b.in(c.First); f != "" {
		p.Steps = append(p.Steps, Step{Text: f})
	}
	for _, x := range c.Xids {
		key := "xid." + strings.TrimSpace(x)
		p.Signals = append(p.Signals, Ref{Key: key, Title: b.titleOf(key), How: b.say("lookFor")})
	}
	b.uses(&p, p.Key)
	b.myths(&p, p.Key)
	return p
}

func codeKey(c *catalog.Code) string {
	fam := strings.TrimRight(c.API, "0123456789")
	if c.Number >= 0 && c.API == "nvml" {
		return fam + "." + strconv.Itoa(c.Number)
	}
	return fam + "." + c.Symbol
}

// otherName adds the symbol of the other CUDA API for the same number.
func (b *book) otherName(p *Page, c *catalog.Code) {
	other := map[string]string{"runtime": "driver", "driver": "runtime"}[c.API]
	if o, ok := b.t.CodeNumber(other, c.Number); ok && other != "" {
		p.fact(b.say(other+"Name"), o.Symbol)
	}
}

// addLegacy warns that old programs print another meaning under this number.
func (b *book) addLegacy(p *Page, family string, n int) {
	if family != "cuda" && family != "runtime" {
		return
	}
	if old, ok := b.t.CodeNumber("runtime-legacy", n); ok && !strings.EqualFold(old.Symbol, p.Name) {
		p.fact(b.say("legacy"), old.Symbol)
	}
}

// rminit is the page of "RmInitAdapter failed! (stage:status:line)".
func (b *book) rminit(stage, status string) (Page, bool) {
	s := &gpumedic.Signal{Fields: map[string]string{"stage": stage, "status": status}}
	decode.New(b.t).Decode("rminit", s)
	n1, _ := strconv.ParseUint(stage, 0, 32)
	n2, _ := strconv.ParseUint(status, 0, 32)
	st, sv := b.t.RmInit(n1, n2)
	p := Page{Kind: KindRmInit, Key: "nvrm.rminit_failed", Title: "RmInitAdapter " + stage + ":" + status, Action: s.Fields["action"]}
	if c := s.Fields["classes"]; c != "" {
		p.Class = strings.Split(c, "|")
	}
	var parts []string
	if st != nil {
		parts = append(parts, b.in(st.Meaning))
		p.fact(b.say("stage"), st.Name)
		if c := b.in(st.Causes); c != "" {
			p.Causes = append(p.Causes, Cause{Cause: c})
		}
		p.Sources = addMissing(p.Sources, st.Sources...)
	} else {
		parts = append(parts, b.say("unknownStage"))
	}
	if sv != nil {
		parts = append(parts, b.in(sv.Meaning))
		p.fact(b.say("status"), sv.Name)
		p.Sources = addMissing(p.Sources, sv.Sources...)
	} else {
		parts = append(parts, b.say("unknownStatus"))
	}
	p.Meaning = strings.Join(parts, b.semicolon())
	b.uses(&p, p.Key)
	return p, true
}

func (b *book) rmName(x *catalog.RmInit) Page {
	return Page{Kind: KindRmInit, Key: x.Name, Title: x.Name + fmt.Sprintf(" (0x%x)", x.Code), Meaning: b.in(x.Meaning), Class: x.Classes, Action: x.Action, Sources: x.Sources}
}

// recovery is the page of a recovery action.
func (b *book) recovery(name string) (Page, bool) {
	r, ok := b.t.RecoveryNamed(name)
	if n, err := strconv.ParseUint(strings.TrimSpace(name), 0, 8); !ok && err == nil {
		r, ok = b.t.Recovery(int(n))
	}
	if !ok {
		return Page{}, false
	}
	p := Page{Kind: KindRecovery, Key: "recovery " + r.Token, Title: b.say("recovery") + b.colon() + r.Names[0], Meaning: b.in(r.Meaning), Action: r.Action, Sources: r.Sources}
	p.fact(b.say("number"), strconv.Itoa(r.Code))
	b.uses(&p, "xid.154")
	return p, true
}

func (b *book) bucket(k *catalog.Bucket) Page {
	p := Page{Kind: KindBucket, Key: k.ID, Title: b.say("bucket") + b.colon() + strings.ToUpper(k.ID), Meaning: b.in(k.Meaning), Action: k.Action, Steps: []Step{{Text: b.in(k.Steps)}}, Sources: k.Sources}
	for _, x := range b.t.Xids() {
		if x.Immediate == k.ID && x.Class() != "unused" {
			p.Signals = append(p.Signals, Ref{Key: x.Kind(), Title: firstClause(b.in(x.Meaning))})
		}
	}
	return p
}

func (p *Page) fact(name, value string) {
	if value != "" {
		p.Facts = append(p.Facts, Fact{name, value})
	}
}

func (b *book) myths(p *Page, about string) {
	for _, m := range b.t.Myths(about) {
		p.Myths = append(p.Myths, Myth{Claim: b.in(m.Claim), Truth: b.in(m.Truth), Sources: m.Sources})
	}
}

// titleOf is the title of a signal kind or fault, for references.
func (b *book) titleOf(key string) string {
	if f := b.c.Faults[key]; f != nil {
		return b.in(f.Title)
	}
	fam, rest, _ := strings.Cut(key, ".")
	n, err := strconv.Atoi(rest)
	if err != nil {
		return ""
	}
	switch fam {
	case "xid":
		if x, ok := b.t.Xid(n); ok {
			return firstClause(b.in(x.Meaning))
		}
	case "sxid":
		if x, ok := b.t.SXid(n); ok {
			return b.in(x.Meaning)
		}
	case "cuda":
		if c, ok := b.t.CUDA(n); ok {
			return c.Symbol
		}
	}
	return ""
}

// firstClause is a meaning short enough for a title. "Not used on A100 and newer. On
// Volta and older: X" is titled X.
func firstClause(s string) string {
	for _, end := range []string{"; ", "；", ": ", "："} {
		i := strings.Index(s, end)
		if i <= 0 {
			continue
		}
		if j := max(strings.LastIndex(s[:i], " ("), strings.LastIndex(s[:i], "（")); j > 20 && strings.Contains(s[i:], closeOf(s[j:])) && !strings.Contains(s[j:i], closeOf(s[j:])) {
			i = j // the clause ends inside a remark: end before it
		}
		if head := s[:i]; strings.Contains(head, ". ") || strings.Contains(head, "。") {
			s = s[i+len(end):]
		} else if i > 20 {
			s = head
		}
	}
	for _, paren := range [][2]string{{" (", ")"}, {"（", "）"}} {
		if i := strings.LastIndex(s, paren[0]); i > 20 && strings.HasSuffix(s, paren[1]) {
			s = s[:i]
		}
	}
	return s
}

func closeOf(s string) string {
	if strings.HasPrefix(s, " (") {
		return ")"
	}
	return "）"
}

func addMissing(list []string, more ...string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// classWords are the classes in words.
func (b *book) classWords(classes []string) string {
	var out []string
	for _, c := range classes {
		switch w := lang.Term(b.lang, c); {
		case b.lang == "zh" && w == c:
			out = append(out, b.say("class_"+c))
		default:
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}
