// Package catalogtest proves a catalog: it runs every matcher's examples and near
// misses and every fault's cases through the same path as `gpumedic diagnose`. The
// program's own tests and `gpumedic catalog test DIR` share it, so a user's rules are
// held to what ours are.
package catalogtest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/decode"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/scan"
	"github.com/gpumedic/gpumedic/internal/source"
)

// Failure is one expectation that does not hold.
type Failure struct {
	Where string // file, and the case or matcher in it
	What  string
}

func (f Failure) String() string { return f.Where + ": " + f.What }

// Result counts what was tried and lists what failed.
type Result struct {
	Cases, Examples, NearMisses int
	Failures                    []Failure
}

// Run tries the entries of part (read from fsys) against the whole catalog.
func Run(ctx context.Context, whole, part *catalog.Catalog, fsys fs.FS) (Result, error) {
	var r Result
	d, err := offline.New(whole)
	if err != nil {
		return r, err
	}
	for _, id := range part.FaultIDs() {
		f := part.Faults[id]
		cases, err := catalog.Cases(fsys, f)
		if err != nil {
			return r, err
		}
		for _, c := range cases {
			if len(c.Want) == 0 {
				r.fail(c.Pos.File, "no \"# want …\" line at the top")
				continue
			}
			r.Cases++
			rep, err := d.Run(ctx, []source.Input{source.FromBytes(c.Name, []byte(c.Input))}, offline.Options{Lang: "en"})
			if err != nil {
				return r, err
			}
			for _, msg := range unmet(c.Want, rep) {
				r.fail(c.Pos.File, msg)
			}
		}
	}
	return r, r.examples(ctx, part)
}

func (r *Result) fail(where, what string) { r.Failures = append(r.Failures, Failure{where, what}) }

// unmet lists the expectations of a case that a report does not meet.
func unmet(want map[string]string, rep *gpumedic.Report) []string {
	var out []string
	var top gpumedic.Finding
	if len(rep.Findings) > 0 && rep.Findings[0].Role == gpumedic.RoleRoot {
		top = rep.Findings[0]
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		w, got := want[k], ""
		switch k {
		case "fault":
			got = top.Fault
		case "not":
			if top.Fault == w {
				out = append(out, fmt.Sprintf("the answer is %s, which this near miss must not give", w))
			}
			continue
		case "verdict":
			got = rep.Verdict
		case "action":
			got = top.Action
		case "gpu":
			got = top.Subject.GPU.PCI
			if n := gpumedic.NormalPCI(w); n != "" {
				w = n
			}
		case "node":
			got = top.Subject.Node
		case "process":
			got = top.Subject.Process.Name
		case "pid":
			got = fmt.Sprint(top.Subject.Process.PID)
		case "rank":
			if got = "none"; top.Subject.Rank != nil {
				got = fmt.Sprint(*top.Subject.Rank)
			}
		case "role":
			got = top.Role
		case "severity":
			got = top.Severity
		case "unexplained":
			got = fmt.Sprint(len(rep.Unexplained))
		case "consequence": // several by space
			for _, kind := range strings.Fields(w) {
				if !explains(top, kind) {
					out = append(out, fmt.Sprintf("%s is not among the consequences", kind))
				}
			}
			continue
		default:
			out = append(out, fmt.Sprintf("unknown expectation %q", k))
			continue
		}
		if got != w && !strings.Contains(" "+strings.ReplaceAll(w, "|", " ")+" ", " "+got+" ") {
			out = append(out, fmt.Sprintf("%s is %q, want %q (answer: %s)", k, got, w, answer(rep)))
		}
	}
	return out
}

func answer(rep *gpumedic.Report) string {
	var b strings.Builder
	b.WriteString(rep.Verdict)
	for _, f := range rep.Findings {
		fmt.Fprintf(&b, "; %s %s %.2f", f.Role, f.Fault, f.Confidence)
	}
	for _, u := range rep.Unexplained {
		fmt.Fprintf(&b, "; unexplained %s", u.Signal)
	}
	return b.String()
}

func explains(f gpumedic.Finding, kind string) bool {
	for _, c := range f.Consequences {
		if gpumedic.KindMatches(kind, c.Signal) {
			return true
		}
	}
	for _, e := range f.Evidence {
		if gpumedic.KindMatches(kind, e.Signal) {
			return true
		}
	}
	return false
}

// examples scans each example and near miss with the one matcher that it belongs to:
// another matcher may well give the same kind for the neighbour's line.
func (r *Result) examples(ctx context.Context, part *catalog.Catalog) error {
	for i := range part.Matchers {
		m := &part.Matchers[i]
		s, err := scan.New(&catalog.Catalog{Matchers: []catalog.Matcher{*m}}, decode.New(part.Tables()))
		if err != nil {
			return err
		}
		signals := func(text string) ([]gpumedic.Signal, error) {
			res, err := s.Scan(ctx, []source.Input{source.FromBytes("example", []byte(text))}, scan.Options{})
			return res.Signals, err
		}
		where := m.Pos.File + " matcher " + m.ID
		for _, e := range m.Examples {
			r.Examples++
			sigs, err := signals(e.Line)
			if err != nil {
				return err
			}
			if msg := differs(m, e.Want, sigs); msg != "" {
				r.fail(where, fmt.Sprintf("example %q: %s", e.Line, msg))
			}
		}
		for _, l := range m.NearMisses {
			r.NearMisses++
			sigs, err := signals(l)
			if err != nil {
				return err
			}
			for _, sig := range sigs {
				if couldBe(m.Kind, sig.Kind) {
					r.fail(where, fmt.Sprintf("near miss %q gives %s", l, sig.Kind))
				}
			}
		}
	}
	return nil
}

// couldBe says whether a kind can come from a matcher's kind with its variables.
func couldBe(template, kind string) bool {
	head, _, variable := strings.Cut(template, "{")
	if !variable {
		return template == kind
	}
	return strings.HasPrefix(kind, head)
}

func differs(m *catalog.Matcher, want map[string]string, sigs []gpumedic.Signal) string {
	if len(sigs) == 0 {
		return "no signal"
	}
	last := ""
	for i := range sigs {
		if last = mismatch(m, want, &sigs[i]); last == "" {
			return ""
		}
	}
	return last
}

func mismatch(m *catalog.Matcher, want map[string]string, s *gpumedic.Signal) string {
	kind := want["kind"]
	if kind == "" {
		kind = m.Kind
	}
	if s.Kind != kind && !(strings.Contains(kind, "{") && couldBe(kind, s.Kind)) {
		return fmt.Sprintf("kind is %s, want %s", s.Kind, kind)
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if k == "kind" {
			continue
		}
		w, got := want[k], s.Part(k)
		if got == w || gpumedic.NormalPCI(w) != "" && got == gpumedic.NormalPCI(w) {
			continue
		}
		return fmt.Sprintf("%s is %q, want %q", k, got, w)
	}
	return ""
}
