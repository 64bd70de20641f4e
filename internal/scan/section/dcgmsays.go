package section

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// DCGM words its findings in sentences (dcgm_errors.h) that its tables break at the
// column, in the middle of words too. So they are recognised without their blanks.

// dcgmSentences are parts of those sentences, in lower case and without blanks, and
// the word that the rules know the finding by. The first that fits counts.
var dcgmSentences = []struct{ part, finding string }{
	{"rowremappingfailed", "remap_failed"},
	{"rowremappingsarepending", "remap_pending"},
	{"pendingretiredpage", "retired_pending"},
	{"pendingpageretirements", "retired_pending"},
	{"volatiledouble-biteccerror", "ecc_uncorrected"},
	{"double-biteccerrorhasoccured", "ecc_uncorrected"},
	{"corruptinforom", "inforom_corrupt"},
	{"thermalviolation", "thermal"},
	{"nvlinkshavebeendetecteddown", "nvlink_down"},
	{"miscompare", "miscompare"},
	{"memorymismatch", "memory_fault"},
	{"faultymemoryelements", "memory_fault"},
	{"persistencemode", "persistence"},
}

var (
	dcgmLinkDown = lazyre.New(`gpu(\d+)'snvlinklink(\d+)iscurrentlydown`)
	dcgmLinksUp  = lazyre.New(`^(?:gpu\d+:?)?only(\d+)nvlinksareupoutoftheexpected(\d+)`)
	dcgmNVErrors = lazyre.New(`detected(\d+)\S*?nvlinkerrorsongpu(\d+)`)
	dcgmXid      = lazyre.New(`(?:detectedxid(\d+)forgpu|uncontainederror\(xid(95)\))`)
)

// said adds what a sentence of DCGM says, with the line that it begins on.
func (b *builder) said(text string, line int, raw string) {
	flat := strings.ToLower(strings.Join(strings.Fields(text), ""))
	if flat == "" {
		return
	}
	put := func(key, v string) {
		if _, dup := b.Values[key]; !dup {
			b.Values[key] = Reading{Key: key, Value: v, Line: line, Text: raw}
		}
	}
	if m := dcgmXid.FindStringSubmatch(flat); m != nil {
		put("dcgm.finding", "xid")
		put("dcgm.finding.xid", m[1]+m[2])
		return
	}
	if m := dcgmLinkDown.FindStringSubmatch(flat); m != nil {
		put("dcgm.finding", "nvlink_down")
		put("nvlink.links.down", m[2])
		if b.Subject.GPU.Index == nil {
			b.Subject.GPU.Index = smallInt(m[1])
		}
		return
	}
	if dcgmLinksUp.MatchString(flat) {
		put("dcgm.finding", "nvlink_down")
		return
	}
	if m := dcgmNVErrors.FindStringSubmatch(flat); m != nil {
		put("dcgm.finding", "nvlink_errors")
		put("dcgm.finding.count", m[1])
		return
	}
	for _, s := range dcgmSentences {
		if strings.Contains(flat, s.part) {
			put("dcgm.finding", s.finding)
			return
		}
	}
}

// sentence is what the rows below a test or system say together.
type sentence struct {
	text, raw string
	line      int
}

// longestSaying bounds what is kept of the rows below one test.
const longestSaying = 16 << 10

// sentences gathers the rows of the sets of a table.
type sentences map[*builder]sentence

func (s sentences) add(b *builder, text string, line int, raw string) {
	was, ok := s[b]
	if !ok {
		was = sentence{raw: raw, line: line}
	}
	if len(was.text) < longestSaying {
		was.text += " " + text
	}
	s[b] = was
}

// finish tells each set what was said of it.
func (s sentences) finish() {
	for b, what := range s {
		b.said(what.text, what.line, what.raw)
	}
}
