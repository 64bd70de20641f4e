package check

import (
	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lint"
	"github.com/gpumedic/gpumedic/internal/report"
)

// AddSettings adds what the environment's settings do wrong. What no fault of the catalog
// names is a note: it weighs on the status all the same.
func AddSettings(n *report.Node, r *lint.Result) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Fault != "" {
			n.Findings = append(n.Findings, f.Report())
			n.Mild[len(n.Findings)-1] = f.Level != lint.LevelError
			continue
		}
		n.Notes = append(n.Notes, f.Name+"="+f.Value+": "+f.Message)
	}
	if s := r.ExitStatus(); s == gpumedic.ExitFault || n.Status == gpumedic.ExitHealthy {
		n.Status = s
	}
	n.Verdict = verdict(n.Status)
}
