package catalog

import (
	"io/fs"
	"math/bits"
	"strconv"
	"strings"
)

// NVLink5 is one row of the decode table of Xid 144 to 150.
type NVLink5 struct {
	Xid               int
	Unit              string // saw_mvb, rlw_remap; "a/b": a in the old layout, b or a_b in the new
	OldMask, OldValue uint32 // before R575
	NewMask, NewValue uint32 // R575 and later
	ErrStatus         uint32
	AnyStatus         bool
	Reason            int // link-down reason, -1 when the row is not about one
	Immediate         string
	Investigatory     string
	Severity          string // fatal, link_fatal, nonfatal
	Origin            string
	Local, Remote     string // effect on this GPU and on the peer, tokens joined by "|"
}

// Fits reports whether the row describes the words in the layout.
func (l *NVLink5) Fits(old bool, intrinfo, errstatus uint32) bool {
	if !l.AnyStatus && l.ErrStatus != errstatus {
		return false
	}
	if old {
		return intrinfo&l.OldMask == l.OldValue
	}
	return intrinfo&l.NewMask == l.NewValue
}

// Named reports whether the unit that the line prints belongs to the row.
func (l *NVLink5) Named(unit string) bool {
	unit = strings.ToLower(unit)
	if unit == "" || unit == l.Unit {
		return true
	}
	for part := range strings.SplitSeq(l.Unit, "/") {
		if part == unit {
			return true
		}
	}
	return false
}

func loadNVLink5(fsys fs.FS) ([]*NVLink5, error) {
	t := readTable(fsys, "nvlink5.tsv", "xid", "unit", "old_mask", "new_mask", "errstatus", "immediate")
	var out []*NVLink5
	err := t.rows(func(r tableRow) {
		l := &NVLink5{
			Xid: r.num("xid"), Unit: r.need("unit"), OldMask: r.word("old_mask"), OldValue: r.word("old_value"),
			NewMask: r.word("new_mask"), NewValue: r.word("new_value"), Reason: -1,
			Immediate: r.need("immediate"), Investigatory: r.need("investigatory"),
			Severity: r.oneOf("severity", "fatal", "link_fatal", "nonfatal"), Origin: r.need("origin"),
			Local: r.opt("local"), Remote: r.opt("remote"),
		}
		if r.need("errstatus") == "any" {
			l.AnyStatus = true
		} else {
			l.ErrStatus = r.word("errstatus")
		}
		if r.opt("reason") != "" {
			l.Reason = r.num("reason")
		}
		out = append(out, l)
	})
	return out, err
}

// R575 is the driver branch from which IntrInfo of Xid 144 to 150 has its new layout.
const R575 = 575

// NVLink5Match is a row that fits, and the layout in which it does.
type NVLink5Match struct {
	*NVLink5
	Old bool
}

// NVLink5 finds the rows for a line of Xid 144 to 150. unit may be empty; driver is
// the major version, 0 when unknown: then rows of both layouts come back. Rows whose
// unit is the one printed come first, more special masks before general ones.
func (t *TableSet) NVLink5(xid int, unit string, intrinfo, errstatus uint32, driver int) []NVLink5Match {
	rows, _ := t.nvlink5()
	var named, other []NVLink5Match
	for _, old := range []bool{false, true} {
		if driver > 0 && old != (driver < R575) {
			continue
		}
		var best, rest *NVLink5
		for _, l := range rows {
			if l.Xid != xid || !l.Fits(old, intrinfo, errstatus) {
				continue
			}
			if l.Named(unit) {
				if best == nil || moreSpecial(l, best, old) {
					best = l
				}
			} else if rest == nil || moreSpecial(l, rest, old) {
				rest = l
			}
		}
		if best != nil {
			named = append(named, NVLink5Match{best, old})
		} else if rest != nil {
			other = append(other, NVLink5Match{rest, old})
		}
	}
	if len(named) > 0 {
		return named
	}
	return other
}

func moreSpecial(a, b *NVLink5, old bool) bool {
	if a.AnyStatus != b.AnyStatus {
		return b.AnyStatus
	}
	if old {
		return bits.OnesCount32(a.OldMask) > bits.OnesCount32(b.OldMask)
	}
	return bits.OnesCount32(a.NewMask) > bits.OnesCount32(b.NewMask)
}

// NVLink5Rows returns the rows of one Xid in table order.
func (t *TableSet) NVLink5Rows(xid int) []*NVLink5 {
	rows, _ := t.nvlink5()
	var out []*NVLink5
	for _, l := range rows {
		if l.Xid == xid {
			out = append(out, l)
		}
	}
	return out
}

// LinkReason is why a link went down (Xid 149).
type LinkReason struct {
	Code    int
	Token   string
	Low     bool
	Meaning Text
	Sources []string
}

func loadReasons(fsys fs.FS) (map[int]*LinkReason, error) {
	t := readTable(fsys, "nvlink5-reasons.tsv", "reason", "token", "text_en", "text_zh")
	m := map[int]*LinkReason{}
	return m, t.rows(func(r tableRow) {
		x := &LinkReason{Code: r.num("reason"), Token: r.need("token"), Low: r.oneOf("confidence", "", "low") == "low", Meaning: r.mustText("text"), Sources: r.sources()}
		m[x.Code] = x
	})
}

// LinkReason looks up a reason of Xid 149.
func (t *TableSet) LinkReason(code int) (*LinkReason, bool) {
	m, _ := t.reasons()
	r, ok := m[code]
	return r, ok
}

// LinkVerdicts are the verdicts of bits of Xid 74, mildest first.
var LinkVerdicts = []string{"ignore", "ecc_threshold", "secondary", "fabric_reset", "repeat_report", "ecc_parity", "unexpected", "weak_signal", "hw_possible", "unlisted"}

func loadNVLink4(fsys fs.FS) (map[[2]int]string, error) {
	t := readTable(fsys, "nvlink4-bits.tsv", "word", "bits", "verdict")
	m := map[[2]int]string{}
	return m, t.rows(func(r tableRow) {
		for _, b := range r.list("bits", ",") {
			n, err := strconv.Atoi(b)
			if err != nil || n < 0 || n > 31 {
				r.fail("bits", "%q is no bit", b)
			}
			m[[2]int{r.num("word"), n}] = r.oneOf("verdict", LinkVerdicts...)
		}
	})
}

// NVLink4Bit is the verdict on a bit of a word of Xid 74, "unlisted" when the table
// does not have it. Words count from 0 in the line.
func (t *TableSet) NVLink4Bit(word, bit int) string {
	m, _ := t.nvlink4()
	if v := m[[2]int{word, bit}]; v != "" {
		return v
	}
	return "unlisted"
}

// Recovery is a recovery action of Xid 154, NVML and nvidia-smi.
type Recovery struct {
	Code     int
	Token    string // none, reset, reboot, drain_p2p, drain_reset, recover_imex
	Action   string
	Strength int
	Names    []string
	Meaning  Text
	Sources  []string
}

func loadRecovery(fsys fs.FS) ([]*Recovery, error) {
	t := readTable(fsys, "recovery.tsv", "code", "recovery", "action", "names", "text_en", "text_zh")
	var out []*Recovery
	err := t.rows(func(r tableRow) {
		out = append(out, &Recovery{Code: r.num("code"), Token: r.need("recovery"), Action: r.action("action"), Strength: r.num("strength"),
			Names: r.list("names", "|"), Meaning: r.mustText("text"), Sources: r.sources()})
	})
	return out, err
}

// Recovery looks up a recovery action by number.
func (t *TableSet) Recovery(code int) (*Recovery, bool) {
	rows, _ := t.recovery()
	for _, r := range rows {
		if r.Code == code {
			return r, true
		}
	}
	return nil, false
}

// RecoveryNamed looks up a recovery action by any spelling of its name or token.
func (t *TableSet) RecoveryNamed(name string) (*Recovery, bool) {
	want := lettersOf(name)
	rows, _ := t.recovery()
	for _, r := range rows {
		if lettersOf(r.Token) == want {
			return r, true
		}
		for _, n := range r.Names {
			if lettersOf(n) == want {
				return r, true
			}
		}
	}
	return nil, false
}

// Recoveries returns all recovery actions by code.
func (t *TableSet) Recoveries() []*Recovery {
	rows, _ := t.recovery()
	return rows
}

// lettersOf keeps letters and digits, lower case.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, s)
}

func itoa(n int) string { return strconv.Itoa(n) }
