package report

import (
	"fmt"
	"io"
	"reflect"

	"github.com/gpumedic/gpumedic"
)

// Node is the answer of a check: a report with the table of GPUs and what could not be
// read. Its JSON is the report's with these fields more.
type Node struct {
	*gpumedic.Report
	Status   int      `json:"status"`   // the exit status
	Outputs  int      `json:"outputs"`  // tool outputs, messages and system logs that were recognised
	Readings int      `json:"readings"` // how many values were read
	GPUs     []GPU    `json:"gpus"`
	Unread   []Unread `json:"unread"`
	Took     float64  `json:"took_s,omitempty"` // seconds for taking the readings
	// Mild tells of each finding, by its place, that it leaves the node fit: a program's
	// own fault, a thing to look at.
	Mild map[int]bool `json:"-"`
}

// GPU is one row. Numbers that were not read are absent.
type GPU struct {
	Node        string   `json:"node,omitempty"`
	Index       *int     `json:"index,omitempty"`
	PCI         string   `json:"pci,omitempty"`
	UUID        string   `json:"uuid,omitempty"`
	Serial      string   `json:"serial,omitempty"`
	Name        string   `json:"name,omitempty"`
	VBIOS       string   `json:"vbios,omitempty"`
	Driver      string   `json:"driver,omitempty"`
	State       string   `json:"state"` // ok, warning, fault, unknown
	Problems    []string `json:"problems,omitempty"`
	MemoryUsed  *float64 `json:"memory_used_mib,omitempty"`
	MemoryTotal *float64 `json:"memory_total_mib,omitempty"`
	Utilization *float64 `json:"utilization_percent,omitempty"`
	Temperature *float64 `json:"temperature_c,omitempty"`
	Margin      *float64 `json:"temperature_margin_c,omitempty"` // degrees left to the limit
	Power       *float64 `json:"power_w,omitempty"`
	PowerLimit  *float64 `json:"power_limit_w,omitempty"`
	Gen         *float64 `json:"pcie_gen,omitempty"`
	GenMax      *float64 `json:"pcie_gen_max,omitempty"`
	Width       *float64 `json:"pcie_width,omitempty"`
	WidthMax    *float64 `json:"pcie_width_max,omitempty"`
	Corrected   *float64 `json:"ecc_corrected,omitempty"`   // since the driver was loaded
	Uncorrected *float64 `json:"ecc_uncorrected,omitempty"` // since the driver was loaded
	LinksUp     *float64 `json:"nvlinks_active,omitempty"`
	LinksDown   *float64 `json:"nvlinks_inactive,omitempty"`
	Processes   int      `json:"processes"`
}

// Unread is a reading that should be there and could not be read.
type Unread struct {
	Input   string           `json:"input"`
	Line    int              `json:"line,omitempty"`
	Subject gpumedic.Subject `json:"subject"`
	Reading string           `json:"reading"`
	Why     string           `json:"why"`
}

// NodeFormats are the forms of WriteNode.
var NodeFormats = []string{"text", "json", "markdown", "nagios", "prometheus"}

// WriteNode writes a check's answer. Prometheus is the text form of a node exporter's
// textfile collector; nagios is the one line and the performance data of a plugin.
func WriteNode(w io.Writer, n *Node, format string, o Options) error {
	switch format {
	case "text", "":
		return nodeText(w, printableNode(n), o)
	case "json":
		return gpumedic.WriteJSON(w, n)
	case "markdown":
		return nodeMarkdown(w, printableNode(n), o)
	case "nagios":
		return nagios(w, printableNode(n), o)
	case "prometheus":
		return prometheus(w, n)
	}
	return fmt.Errorf("write check: unknown format %q", format)
}

func printableNode(n *Node) *Node {
	c := *n
	c.Report = printable(n.Report)
	c.GPUs = cleaned(reflect.ValueOf(n.GPUs)).Interface().([]GPU)
	c.Unread = cleaned(reflect.ValueOf(n.Unread)).Interface().([]Unread)
	return &c
}
