package catalog

import "slices"

// Escalation is one step up the ladder for a fault that came back. A GPU is never
// replaced by counting: that takes the vendor's criteria, so the ladder ends at the
// diagnosis that decides about them.
var Escalation = map[string]string{
	"monitor":     "drain_and_diagnose",
	"restart_app": "reset_gpu",
	"reset_gpu":   "drain_and_diagnose",
}

// Worse is the more harmful of two actions of the ladder; an unknown one is the least.
func Worse(a, b string) string {
	if slices.Index(Actions, a) >= slices.Index(Actions, b) {
		return a
	}
	return b
}
