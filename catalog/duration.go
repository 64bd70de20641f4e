package catalog

import (
	"time"

	"go.yaml.in/yaml/v4"
)

// UnmarshalYAML reads "90s", "10m", "24h".
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	var s string
	if err := n.Decode(&s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	d.Duration, d.Set = v, true
	return nil
}
