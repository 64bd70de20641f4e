package scan

import (
	"bytes"
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
)

// unreadKind is the signal of a line that holds a driver's report in full and that no
// matcher could read: better an unknown cause than a clean bill of health.
const unreadKind = "nvrm.unread"

// unreadMatcher knows the reports that only the driver writes, anywhere in a message.
func unreadMatcher() *catalog.Pattern {
	return catalog.Compile(&catalog.Matcher{
		ID: "driver-unread", Kind: unreadKind, Level: "abnormal", Origin: "kernel",
		Literals: []string{"Xid ("},
		Pattern: `(?:NVRM: (?:GPU\d+ )?Xid \((?:PCI:)?(?P<gpu>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)[^)]{0,40}\)` +
			`|SXid \((?:PCI:)?(?P<nvswitch>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)\)):? (?P<code>\d{1,6})(?:[,.: ]|$)`,
		Key: []string{"code"},
		Meaning: catalog.Text{
			EN: "The driver reported an event in a line whose form is not known",
			ZH: "驱动报告了一个事件，但该行的格式未知",
		},
	}, fast)
}

// unread makes that signal of a message which gave none. A quote stays a quote: a
// service's text is its own, and only framing may stand before the report.
func (x *input) unread(p place, msg *frame.Message) {
	if msg.Origin == frame.Service || !bytes.Contains(p.text, []byte("Xid (")) {
		return
	}
	m := x.s.unread
	match, ok := m.Match(msg.Text)
	if !ok {
		return
	}
	before := msg.Text[:match.Start]
	if i := strings.LastIndex(before, "nvidia-nvswitch"); i >= 0 {
		before = before[:i]
	}
	if !frame.IsFraming(before) {
		return
	}
	pr := x.build(m, p, msg, piece{msg.Text, 0}, msg.Text, match)
	x.count(p, msg, pr)
}
