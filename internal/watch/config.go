package watch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Config is the daemon's configuration. Every field has a default; docs/watch.md
// describes them.
type Config struct {
	Node     string        `yaml:"node"`     // name of this node; default the host's name
	Language string        `yaml:"language"` // of texts: en or zh
	Store    string        `yaml:"store"`    // file of the incidents
	Catalog  string        `yaml:"catalog,omitempty"`
	Window   time.Duration `yaml:"window"` // how long an event counts

	Kernel    Kernel             `yaml:"kernel"`
	Journal   Journal            `yaml:"journal"`
	GPUs      GPUs               `yaml:"gpus"`
	Host      Host               `yaml:"host"`
	JobLogs   JobLogs            `yaml:"job_logs"`
	Expect    Expect             `yaml:"expect"`
	Incidents Incidents          `yaml:"incidents"`
	Alerts    Alerts             `yaml:"alerts"`
	Upkeep    Maintenance        `yaml:"maintenance"`
	Web       Web                `yaml:"web"`
	Notify    notify.Config      `yaml:"notifications,omitempty"`
	Threshold map[string]float64 `yaml:"thresholds,omitempty"`
}

// Kernel is the kernel's log.
type Kernel struct {
	Enabled bool   `yaml:"enabled"`
	Path    string `yaml:"path"`
}

// Journal is systemd's journal: services, and the kernel of the boot before.
type Journal struct {
	Enabled bool   `yaml:"enabled"`
	Program string `yaml:"program"`
}

// GPUs are the readings through NVML.
type GPUs struct {
	Enabled     bool          `yaml:"enabled"`
	Interval    time.Duration `yaml:"interval"`
	QuickEvery  time.Duration `yaml:"quick_every"`
	FullEvery   time.Duration `yaml:"full_every"`
	CallTimeout time.Duration `yaml:"call_timeout"`
}

// Host are the readings of the machine.
type Host struct {
	Enabled   bool          `yaml:"enabled"`
	Interval  time.Duration `yaml:"interval"`
	FullEvery time.Duration `yaml:"full_every"`
}

// JobLogs are files of jobs.
type JobLogs struct {
	Paths []string      `yaml:"paths,omitempty"` // patterns
	Max   int           `yaml:"max"`
	Every time.Duration `yaml:"every"`
}

// Expect is what the node should be.
type Expect struct {
	GPUs     *int   `yaml:"gpus,omitempty"`
	Baseline string `yaml:"baseline,omitempty"`
}

// Incidents are the spans of their life.
type Incidents struct {
	ReopenWindow time.Duration `yaml:"reopen_window"`
	Quiet        time.Duration `yaml:"quiet"`
	QuietClose   time.Duration `yaml:"quiet_close"`
	FlapWindow   time.Duration `yaml:"flap_window"`
	MaxFlaps     int           `yaml:"max_flaps"`
	MaxAttempts  int           `yaml:"max_attempts"`
	Keep         time.Duration `yaml:"keep"`
}

// Alerts are the rules that the daemon evaluates by itself.
type Alerts struct {
	Enabled bool     `yaml:"enabled"`
	Without []string `yaml:"without,omitempty"` // names of rules
	Files   []string `yaml:"files,omitempty"`   // further rules, as Prometheus has them
}

// Web is what is served.
type Web struct {
	Listen []string `yaml:"listen"`
	// File is the web configuration of Prometheus' exporter-toolkit: TLS, basic
	// authentication, headers.
	File string `yaml:"file,omitempty"`
	// Hosts are further names by which the page may be asked for on a loopback address.
	Hosts        []string `yaml:"hosts,omitempty"`
	AllowActions bool     `yaml:"allow_actions"`
	DCGM         bool     `yaml:"dcgm"` // names of dcgm-exporter in /metrics too
}

// DefaultListen is where the daemon serves when nothing else is said.
const DefaultListen = "127.0.0.1:9532"

// Defaults are the configuration without a file.
func Defaults() *Config {
	p := incident.DefaultPolicy()
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return &Config{
		Node: name, Language: "en", Store: store.DefaultPath, Window: 24 * time.Hour,
		Kernel:  Kernel{true, "/dev/kmsg"},
		Journal: Journal{true, "journalctl"},
		GPUs:    GPUs{true, time.Second, 30 * time.Second, 5 * time.Minute, 5 * time.Second},
		Host:    Host{true, 30 * time.Second, 2 * time.Minute},
		JobLogs: JobLogs{Max: 256, Every: 250 * time.Millisecond},
		Incidents: Incidents{ReopenWindow: p.ReopenWindow, Quiet: p.Quiet, QuietClose: p.QuietClose,
			FlapWindow: p.FlapWindow, MaxFlaps: p.MaxFlaps, MaxAttempts: p.MaxAttempts, Keep: store.DefaultLimits.Age},
		Alerts: Alerts{Enabled: true},
		Upkeep: Maintenance{MemoryTest{From: "02:00", To: "05:00", IdleFor: 15 * time.Minute, Deadline: 30 * time.Minute}},
		Web:    Web{Listen: []string{DefaultListen}},
	}
}

// Problem is something wrong in a configuration.
type Problem struct {
	Line int // 0 where it is not known
	Msg  string
}

func (p Problem) Error() string {
	if p.Line > 0 {
		return fmt.Sprintf("line %d: %s", p.Line, p.Msg)
	}
	return p.Msg
}

// Problems are all that is wrong in a configuration file.
type Problems []error

func (p Problems) Error() string {
	out := make([]string, len(p))
	for i := range p {
		out[i] = p[i].Error()
	}
	return strings.Join(out, "\n")
}

// ReadConfig reads a file over the defaults. An empty path gives the defaults.
func ReadConfig(path string) (*Config, error) {
	if path == "" {
		return Defaults(), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return c, nil
}

// ParseConfig reads a configuration and says all that is wrong in it, with lines.
func ParseConfig(text []byte) (*Config, error) {
	c := Defaults()
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil {
		if errors.Is(err, io.EOF) || strings.Contains(err.Error(), "no documents") { // comments at most
			return c, nil
		}
		return nil, plainError(err)
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return c, nil
	}
	if err := doc.Load(c, yaml.WithKnownFields()); err != nil {
		return nil, plainError(err)
	}
	if bad := c.problems(&doc); len(bad) > 0 {
		return nil, bad
	}
	return c, nil
}

// plainError says the line first, in the words of the rest.
func plainError(err error) error {
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "yaml: ", ""), "unmarshal errors:\n  ")
	if m := yamlPlace.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("line %s: %s", m[1], strings.TrimPrefix(strings.Replace(text, m[0], "", 1), "go-yaml load error in "))
	}
	return errors.New(text)
}

// yamlPlace is how the parser names a place.
var yamlPlace = lazyre.New(` at L(\d+)\.C\d+`)

// problems checks what the types cannot.
func (c *Config) problems(doc *yaml.Node) Problems {
	var out Problems
	bad := func(field, format string, args ...any) {
		out = append(out, Problem{lineOf(doc, field), field + ": " + fmt.Sprintf(format, args...)})
	}
	if !lang.Known(c.Language) {
		bad("language", "unknown language %q (known: en, zh)", c.Language)
	}
	if c.Node == "" || strings.ContainsAny(c.Node, " \t\n") {
		bad("node", "%q is no name of a node", c.Node)
	}
	if !filepath.IsAbs(c.Store) {
		bad("store", "%q is not an absolute path", c.Store)
	}
	for _, d := range []struct {
		field string
		v     time.Duration
		least time.Duration
	}{
		{"window", c.Window, time.Minute}, {"gpus.interval", c.GPUs.Interval, 100 * time.Millisecond},
		{"gpus.quick_every", c.GPUs.QuickEvery, c.GPUs.Interval}, {"gpus.full_every", c.GPUs.FullEvery, c.GPUs.QuickEvery},
		{"gpus.call_timeout", c.GPUs.CallTimeout, 100 * time.Millisecond}, {"host.interval", c.Host.Interval, time.Second},
		{"host.full_every", c.Host.FullEvery, c.Host.Interval}, {"job_logs.every", c.JobLogs.Every, 10 * time.Millisecond},
		{"incidents.reopen_window", c.Incidents.ReopenWindow, 0}, {"incidents.quiet", c.Incidents.Quiet, 0},
		{"incidents.quiet_close", c.Incidents.QuietClose, 0}, {"incidents.flap_window", c.Incidents.FlapWindow, 0},
		{"incidents.keep", c.Incidents.Keep, time.Hour},
	} {
		if d.v < d.least {
			bad(d.field, "%s is less than %s", d.v, d.least)
		}
	}
	if c.JobLogs.Max < 1 {
		bad("job_logs.max", "must be 1 or more")
	}
	for _, p := range c.JobLogs.Paths {
		if _, err := filepath.Match(p, ""); err != nil || !filepath.IsAbs(p) {
			bad("job_logs.paths", "%q is no pattern of an absolute path", p)
		}
	}
	if err := c.Upkeep.MemoryTest.problem(); err != nil {
		bad("maintenance.memory_test", "%v", err)
	}
	if _, err := c.rules(); err != nil {
		bad("alerts", "%v", err)
	}
	if c.Expect.GPUs != nil && *c.Expect.GPUs < 0 {
		bad("expect.gpus", "must not be negative")
	}
	for _, a := range c.Web.Listen {
		if _, _, err := net.SplitHostPort(a); err != nil {
			bad("web.listen", "%q is no address: want HOST:PORT", a)
		}
	}
	var wrong notify.Problems
	switch err := c.Notify.Validate(); {
	case errors.As(err, &wrong):
		for _, p := range wrong {
			out = append(out, Problem{p.Line, "notifications." + p.Field + ": " + p.Msg})
		}
	case err != nil:
		bad("notifications", "%v", err)
	}
	return out
}

// Check says what is wrong in a configuration that flags have changed.
func (c *Config) Check() error {
	if bad := c.problems(&yaml.Node{}); len(bad) > 0 {
		return fmt.Errorf("check configuration: %w", bad)
	}
	return nil
}

// lineOf finds where a field stands; 0 when the file does not have it.
func lineOf(doc *yaml.Node, field string) int {
	n := doc
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	line := 0
	for part := range strings.SplitSeq(field, ".") {
		var next *yaml.Node
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == part {
				line, next = n.Content[i].Line, n.Content[i+1]
			}
		}
		if next == nil {
			return line
		}
		n = next
	}
	return line
}

// Print writes the effective configuration, secrets masked.
func (c *Config) Print(w io.Writer) error {
	out := *c
	out.Notify = c.Notify.Masked()
	text, err := yaml.Dump(&out)
	if err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	_, err = w.Write(text)
	return err
}

func (c *Config) policy() incident.Policy {
	p := incident.DefaultPolicy()
	p.ReopenWindow, p.Quiet, p.QuietClose = c.Incidents.ReopenWindow, c.Incidents.Quiet, c.Incidents.QuietClose
	p.FlapWindow, p.MaxFlaps, p.MaxAttempts = c.Incidents.FlapWindow, c.Incidents.MaxFlaps, c.Incidents.MaxAttempts
	return p
}
