package metricstest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Dashboard is what tests need of a dashboard's JSON.
type Dashboard struct {
	UID           string `json:"uid"`
	SchemaVersion int    `json:"schemaVersion"`
	Panels        []struct {
		ID         int    `json:"id"`
		Type       string `json:"type"`
		Title      string `json:"title"`
		Datasource struct {
			UID string `json:"uid"`
		} `json:"datasource"`
		GridPos struct{ X, Y, W, H int } `json:"gridPos"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Name, Type string
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Name string `json:"name"`
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
}

// Query is a query of a dashboard as Grafana sends it: variables are filled in.
type Query struct{ Panel, Expr string }

// ReadDashboard reads a file.
func ReadDashboard(path string) (*Dashboard, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d Dashboard
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("read dashboard %s: %w", path, err)
	}
	return &d, nil
}

// Queries are those of all panels, variables and annotations, for all nodes.
func (d *Dashboard) Queries() []Query {
	fill := strings.NewReplacer("$job", ".*", "$instance", ".*", "$gpu", ".*", "$__rate_interval", "1m")
	var out []Query
	for _, p := range d.Panels {
		for i, t := range p.Targets {
			out = append(out, Query{fmt.Sprintf("%s %c", p.Title, 'A'+i), fill.Replace(t.Expr)})
		}
	}
	for _, v := range d.Templating.List {
		if series, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			series = strings.TrimSuffix(series, ")")
			series = series[:strings.LastIndexByte(series, ',')]
			out = append(out, Query{"variable " + v.Name, fill.Replace(series)})
		}
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			out = append(out, Query{"annotation " + a.Name, fill.Replace(a.Expr)})
		}
	}
	return out
}
