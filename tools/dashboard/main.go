// Command dashboard checks a dashboard against the types that Grafana generates from its
// own schemas: unknown fields, missing ones, and wrong kinds, in panels, options and
// queries. It is a module of its own, so that the product does not depend on it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	plugins.RegisterDefaultPlugins()
	status := 0
	for _, file := range os.Args[1:] {
		if err := check(file); err != nil {
			fmt.Fprintf(os.Stderr, "dashboard: check %s: %v\n", file, err)
			status = 1
		}
	}
	os.Exit(status)
}

func check(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var d dashboard.Dashboard
	var none cog.BuildErrors // the reader gives an empty list when all is well
	if err := d.UnmarshalJSONStrict(b); err != nil && !(errors.As(err, &none) && len(none) == 0) {
		return err
	}
	if err := d.Validate(); err != nil {
		return err
	}
	if len(d.Panels) == 0 {
		return fmt.Errorf("no panels")
	}
	return nil
}
