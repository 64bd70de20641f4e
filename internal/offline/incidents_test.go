package offline

import (
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/source"
)

func diagnoseFiles(t *testing.T, files ...string) *gpumedic.Report {
	t.Helper()
	c, err := catalog.Load(catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Run(t.Context(), source.Expand(files, source.ExpandOptions{}), Options{Lang: "en"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTwelveLinesAreOneIncident: one GPU had a memory error that was contained; the
// clean-up on three GPUs, the repair and the verdicts all belong to it.
func TestTwelveLinesAreOneIncident(t *testing.T) {
	r := diagnoseFiles(t, "../../examples/contained-memory-error.log")
	if len(r.Findings) != 1 || r.Findings[0].Fault != "ecc-uncorrectable-contained" || r.Findings[0].Subject.GPU.PCI != "0000:3b:00.0" {
		t.Fatalf("findings: %+v", r.Findings)
	}
	n := 0
	for _, c := range r.Findings[0].Consequences {
		n += c.Count
	}
	if n < 9 {
		t.Errorf("%d consequences, want nine or more", n)
	}
	if r.Findings[0].Action != "reset_gpu" {
		t.Errorf("action %s: the driver asked for drain and reset", r.Findings[0].Action)
	}
	if len(r.Unexplained) != 0 {
		t.Errorf("unexplained: %v", r.Unexplained)
	}
}

// TestFaultyProgramsAreNotHardware: the kernel log of an H200 on which small faulty
// programs ran gives faults of programs, by name, and blames no hardware.
func TestFaultyProgramsAreNotHardware(t *testing.T) {
	r := diagnoseFiles(t, "../../examples/h200-application-faults.log")
	var names []string
	for _, f := range r.Findings {
		if f.Layer != "software" {
			t.Errorf("%s is of layer %s", f.Fault, f.Layer)
		}
		names = append(names, f.Subject.Process.Name)
	}
	for _, want := range []string{"oob", "as", "python3"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("no finding names %q: %v", want, names)
		}
	}
}
