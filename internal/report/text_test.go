package report

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/gpumedic/gpumedic"
)

// TestHostileText: control bytes of a log never reach the terminal, whatever they are.
func TestHostileText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evil := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text"))
		r := &gpumedic.Report{Verdict: gpumedic.VerdictFault, Findings: []gpumedic.Finding{{
			Fault: "x", Headline: "x " + evil, Role: gpumedic.RoleRoot, Severity: gpumedic.SeverityError,
			Subject:      gpumedic.Subject{Node: evil, Process: gpumedic.Process{Name: evil}},
			Remedies:     []gpumedic.Remedy{{Step: evil, Command: evil}},
			Evidence:     []gpumedic.EvidenceOut{{Input: "a.log", Line: 1, Text: evil, Count: 3, Note: "n", Fields: map[string]string{"text": evil}}},
			Consequences: []gpumedic.Consequence{{Input: "a.log", Line: 2, Text: evil, Count: 1}},
		}}, Unexplained: []gpumedic.Unexplained{{Signal: "s", Text: evil}}, Inputs: []gpumedic.InputInfo{{Name: evil, Problems: []string{evil}}}}
		for _, format := range []string{"text", "markdown", "json"} {
			var b bytes.Buffer
			if err := Write(&b, r, format, Options{Lang: "en", All: true}); err != nil {
				t.Fatal(err)
			}
			for _, c := range b.Bytes() {
				if c < ' ' && c != '\n' || c == 0x7f && format != "json" {
					t.Fatalf("%s output holds control byte %#x", format, c)
				}
			}
		}
	})
}

func TestQuietIsOneVerdict(t *testing.T) {
	var b bytes.Buffer
	r := &gpumedic.Report{Verdict: gpumedic.VerdictFault, Findings: []gpumedic.Finding{{Headline: "it broke", Severity: "error", Role: gpumedic.RoleRoot}}}
	if err := Write(&b, r, "text", Options{Lang: "en", Quiet: true}); err != nil {
		t.Fatal(err)
	}
	if b.String() != "FAULT  it broke\n" {
		t.Errorf("quiet prints %q", b.String())
	}
}

// TestFoldingNeverPanics: any order of places, notes and kinds.
func TestFoldingNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		list := make([]gpumedic.EvidenceOut, n)
		lines := map[int]bool{}
		for i := range list {
			list[i] = gpumedic.EvidenceOut{Input: "a", Line: rapid.IntRange(1, 6).Draw(t, "line"),
				Signal: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "signal"), Note: rapid.SampledFrom([]string{"", "n"}).Draw(t, "note")}
			lines[list[i].Line] = true
		}
		shown := 0
		for _, f := range folded(list, false) {
			shown += 1 + f.like
		}
		if shown != len(lines) {
			t.Fatalf("%d lines stand for %d places", shown, len(lines))
		}
	})
}
