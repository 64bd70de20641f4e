package report

import (
	"fmt"
	"slices"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// tests prints what active tests did, GPU by GPU.
func (p *printer) tests(list []gpumedic.Test) {
	for _, t := range list {
		fmt.Fprintln(p)
		color := "32;1"
		if t.Result != "pass" {
			color = "33;1"
		}
		if t.Result == "fail" {
			color = "31;1"
		}
		fmt.Fprintf(p, "  %s  %s  %s\n", p.paint("1", t.Test), testedGPU(&t), p.paint(color, lang.Term(p.Lang, t.Result)))
		if t.Why != "" {
			p.lines("    ", t.Why)
		}
		for _, f := range t.Facts {
			p.lines("    ", f)
		}
	}
}

// untested reports whether a test did not do all that it should.
func untested(r *gpumedic.Report) bool {
	return slices.ContainsFunc(r.Tests, func(t gpumedic.Test) bool { return t.Result != "pass" && t.Result != "fail" })
}

// unexplainedBeside leaves out what the tests' own lines say.
func unexplainedBeside(r *gpumedic.Report) []gpumedic.Unexplained {
	if len(r.Tests) == 0 {
		return r.Unexplained
	}
	return slices.DeleteFunc(slices.Clone(r.Unexplained), func(u gpumedic.Unexplained) bool {
		return u.Signal == "test.incomplete" || u.Signal == "test.refused"
	})
}

func (p *printer) mdTests(list []gpumedic.Test) {
	for _, t := range list {
		fmt.Fprintf(p, "### %s %s%s%s\n\n", t.Test, testedGPU(&t), p.colon(), lang.Term(p.Lang, t.Result))
		if t.Why != "" {
			fmt.Fprintf(p, "- %s\n", t.Why)
		}
		for _, f := range t.Facts {
			fmt.Fprintf(p, "- %s\n", f)
		}
		fmt.Fprintln(p)
	}
}

func testedGPU(t *gpumedic.Test) string {
	s := t.Subject.GPU.String()
	if t.Product != "" {
		s += " " + t.Product
	}
	if t.Subject.GPU.Serial != "" {
		s += " (" + t.Subject.GPU.Serial + ")"
	}
	return s
}
