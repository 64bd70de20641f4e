// Package prometheus holds the alert rules for the program: the file that a Prometheus
// loads is the one that the daemon evaluates by itself.
package prometheus

import _ "embed"

// Rules is gpumedic.rules.yaml.
//
//go:embed gpumedic.rules.yaml
var Rules []byte
