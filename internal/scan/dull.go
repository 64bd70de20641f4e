package scan

import (
	"bytes"
	"sync"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
	"github.com/gpumedic/gpumedic/internal/scan/literal"
	"github.com/gpumedic/gpumedic/internal/series"
)

// A common literal brings many rows that none of its matchers matches in the end. Most
// are known for that before the row is framed: a matcher refuses a row that lacks another
// text which its expression needs, or in which the expression, its tests of beginning and
// end left out, matches nowhere. That holds where the message is a part of the row as it
// stands there, without escapes or colours (verbatim).
//
// A dull row, refused by all, may still tell the time, the host or the rank. So the first
// ones are framed, and later one in every dullStride bytes.

const (
	firstDull  = 512
	dullStride = 64 << 10
)

// refusal says which rows a matcher can never match.
type refusal func() (needs lazyre.Needs, loose *lazyre.Filter)

// refusalOf is nil for a matcher that refuses nothing. It is worked out on first use.
func refusalOf(m *catalog.Matcher) refusal {
	if m.Join != nil {
		return nil // its text may go on in other rows
	}
	return sync.OnceValues(func() (lazyre.Needs, *lazyre.Filter) {
		needs := lazyre.NeedsOf(m.Pattern)
		if len(needs) >= enoughNeeds {
			return needs, nil
		}
		return needs, lazyre.NewLooseFilter(m.Pattern)
	})
}

// enoughNeeds is how many texts a row must have that it is asked for nothing else: such a
// row is hardly ever refused.
const enoughNeeds = 3

// refuses says that the matcher surely matches nothing in a verbatim row.
func (r refusal) refuses(row []byte) bool {
	if r == nil {
		return false
	}
	needs, loose := r()
	if !needs.MetBytes(row) {
		return true
	}
	match, known := loose.MatchBytes(row)
	return known && !match
}

// dull says that nothing will come of a candidate row.
func (x *examiner) dull(row []byte, hits []literal.Hit) bool {
	if x.s.frameAll {
		return false
	}
	curve := false
	for i := range hits {
		t := &x.s.targets[hits[i].ID]
		if t.section || t.repeat || t.trace || t.driver {
			return false
		}
		curve = curve || t.curve
	}
	if len(row) > longRow {
		return false
	}
	x.rowNo++
	for i := range hits {
		for _, m := range x.s.targets[hits[i].ID].matchers {
			if x.marked[m] == x.rowNo {
				continue
			}
			x.marked[m] = x.rowNo
			if !x.s.refusals[m].refuses(row) {
				return false
			}
		}
	}
	return verbatim(row) && (!curve || series.Useless(row))
}

// spare says that a dull row need not be framed: there were enough of them hereabouts.
func (x *input) spare(off int64) bool {
	if x.dulls < firstDull {
		x.dulls++
		return false
	}
	if off < x.nextDull {
		return true
	}
	x.nextDull = off + dullStride
	return false
}

// verbatim says that framing takes the message out of a row as it stands there: the row
// has no escapes of any kind, no terminal control, and is no part of a record that was
// cut.
func verbatim(row []byte) bool {
	var seen uint8
	for _, c := range row {
		seen |= kinds[c]
	}
	if seen&oddByte != 0 {
		return false
	}
	if seen&signByte != 0 {
		for _, s := range escapes {
			if bytes.Contains(row, s) {
				return false
			}
		}
	}
	if bytes.Contains(row, []byte(" P ")) { // a record that goes on in the next row
		return false
	}
	one := bytes.Index(row, []byte("NVRM: "))
	return one < 0 || !bytes.Contains(row[one+1:], []byte("NVRM: ")) // several will be read as one
}

const (
	oddByte  = 1 << iota // of an escape: control, backslash, ampersand, anything beyond ASCII
	signByte             // begins one of escapes
)

var kinds = func() (t [256]uint8) {
	for c := range t {
		if c < ' ' && c != '\t' || c >= 0x7f || c == '\\' || c == '&' {
			t[c] = oddByte
		}
	}
	for _, s := range escapes {
		t[s[0]] |= signByte
	}
	return t
}()

// escapes are texts of others: of tables, of rsyslog's octal numbers, of colours as cat -v
// shows them.
var escapes = [][]byte{[]byte(`""`), []byte("#0"), []byte("#177"), []byte("^[[")}
