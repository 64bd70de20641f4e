package alert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic/internal/promql"
)

// Rule is an alerting rule.
type Rule struct {
	Name, Group string
	Expr        promql.Expr
	For         time.Duration
	Keep        time.Duration // keep_firing_for
	Labels      map[string]string
	texts       map[string]template
	// Incidents are patterns of the faults whose incidents the rule asks for: such an
	// alert says more about an incident that is there.
	incidents []promql.Matcher
}

// ruleFile is the form of Prometheus' rule files.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Keep        string            `yaml:"keep_firing_for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// toldOtherwise are groups that the daemon does not evaluate itself.
var toldOtherwise = []string{
	"gpumedic-incidents", // the daemon tells of incidents as such
	"gpumedic-check",     // for nodes without the daemon
}

// Severities of alerts, worst first.
var Severities = []string{"critical", "warning", "info"}

// Rules reads a rule file, without the groups that the daemon tells of otherwise and the
// rules that are left out by name.
func Rules(text []byte, without []string) ([]Rule, error) {
	all, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r Rule) bool {
		return slices.Contains(toldOtherwise, r.Group) || slices.Contains(without, r.Name)
	}), nil
}

// Parse reads a rule file whole.
func Parse(text []byte) ([]Rule, error) {
	var file ruleFile
	if err := yaml.Load(text, &file, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("read alert rules: %w", err)
	}
	var out []Rule
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, x := range g.Rules {
			r := Rule{Name: x.Alert, Group: g.Name, Labels: x.Labels, texts: map[string]template{}}
			err := r.fill(x.Expr, x.For, x.Keep, x.Annotations)
			if err == nil && (r.Name == "" || seen[r.Name]) {
				err = errors.New("the name is missing or there twice")
			}
			if err != nil {
				return nil, fmt.Errorf("read alert rule %q: %w", x.Alert, err)
			}
			seen[r.Name] = true
			out = append(out, r)
		}
	}
	return out, nil
}

func (r *Rule) fill(expr, wait, keep string, annotations map[string]string) (err error) {
	if r.Expr, err = promql.Parse(expr); err != nil {
		return err
	}
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{wait, &r.For}, {keep, &r.Keep}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = promql.ParseDuration(d.text); err != nil {
			return err
		}
	}
	if !slices.Contains(Severities, r.Labels["severity"]) {
		return fmt.Errorf("severity %q is none of %s", r.Labels["severity"], strings.Join(Severities, ", "))
	}
	for name, v := range r.Labels {
		if strings.Contains(v, "{{") {
			return fmt.Errorf("label %s: labels are not filled in", name)
		}
	}
	for name, v := range annotations {
		if r.texts[name], err = parseTemplate(v); err != nil {
			return fmt.Errorf("annotation %s: %w", name, err)
		}
	}
	for _, s := range promql.Selectors(r.Expr) {
		for _, m := range s.Matchers {
			if s.Name == "gpumedic_incident" && m.Name == "fault" && strings.HasPrefix(m.Op, "=") {
				r.incidents = append(r.incidents, m)
			}
		}
	}
	return nil
}

// NewMemory keeps what the rules ask for.
func NewMemory(rules []Rule) *promql.Memory {
	var list []promql.Expr
	for i := range rules {
		list = append(list, rules[i].Expr)
	}
	return promql.NewMemory(list...)
}

// labels are those of the alert of one series.
func (r *Rule) labels(s promql.Labels) promql.Labels {
	list := []promql.Label{{Name: "alertname", Value: r.Name}}
	for name, v := range r.Labels {
		list = append(list, promql.Label{Name: name, Value: v})
	}
	return promql.MakeLabels(append(list, s...)) // of a name that is there twice, the rule's stays
}
