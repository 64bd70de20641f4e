package section

import (
	"strings"

	"github.com/gpumedic/gpumedic"
)

// readingsDoc reads the document that the live probes write (see internal/probe): names
// and values are in their normal form, one a line, under the subject they are about.
var readingsDoc = parser{
	starts: []string{"# gpumedic readings"},
	parse:  parseReadings,
}

// readingsTool is the tool of the live probes.
const readingsTool = "gpumedic check"

func parseReadings(c *cursor) ([]Readings, int) {
	if first, ok := c.line(0); !ok || !strings.HasPrefix(first, "# gpumedic readings") {
		return nil, 0
	}
	var order []*builder
	byHead := map[string]*builder{}
	var b *builder
	end := 0
	for i, text := range c.from(0) {
		switch head, value, ok := strings.Cut(text, ": "); {
		case strings.HasPrefix(text, "#"), strings.TrimSpace(text) == "":
		case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
			name := text[1 : len(text)-1]
			if b = byHead[name]; b == nil {
				b = newSet(readingsTool)
				subjectOf(b, name)
				byHead[name] = b
				order = append(order, b)
			}
		case ok && b != nil && readingName(head):
			value, _, _ = strings.Cut(value, "  # ")
			b.put(head, value, i, c.raw(i))
		default:
			return built(order), end
		}
		end = i + 1
	}
	return built(order), end
}

// subjectOf reads the head of a subject: "gpu 0000:0a:00.0", "nic mlx5_0/1", "node".
func subjectOf(b *builder, head string) {
	kind, name, _ := strings.Cut(head, " ")
	s := &b.Subject
	switch kind {
	case "gpu":
		s.GPU.PCI = gpumedic.NormalPCI(name)
	case "port":
		s.Port = gpumedic.NormalPCI(name)
	case "nvswitch":
		s.NVSwitch = gpumedic.NormalPCI(name)
	case "process": // one that uses several GPUs has a set for each: "process 4242 0000:0a:00.0"
		number, _, _ := strings.Cut(name, " ")
		s.Process.PID = pid(number)
	case "nic":
		s.Location = name // as ibstat's ports
	case "unit", "mount":
		s.Unit = name
	case "node":
		s.Node = name
	}
}

// readingName tells a reading's name from other text before a colon.
func readingName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_') {
			return false
		}
	}
	return s != ""
}

func built(order []*builder) []Readings {
	var out []Readings
	for _, b := range order {
		setProcess(b)
		if !b.empty() {
			out = append(out, b.Readings)
		}
	}
	return out
}
