package section

import (
	"encoding/json"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// dcgmDiag reads the table of `dcgmi diag`: one test a row, with details below.
var dcgmDiag = parser{
	starts:  []string{"| Diagnostic ", "Deployment  ---", "---  Deployment", "Successfully ran diagnostic"},
	command: func(c Command) bool { return c.Tool == "dcgmi" && c.has("diag") },
	parse:   parseDcgmDiag,
}

var (
	tableRow   = lazyre.New(`^\|\s*([^|]*?)\s*\|\s*([^|]*?)\s*\|?$`)
	dcgmResult = lazyre.New(`^(Pass|Fail|Warn|Skip)(?: - All|ed)?(?:.*)$`)
	dcgmMore   = lazyre.New(`^(?:Pass|Fail|Warn|Skip) - `)
	dcgmGPU    = lazyre.New(`(?i)\bGPUs?:? *(\d+)`)
	dcgmDash   = lazyre.New(`^[|+]-*\s*(?:\w[\w /]*\s*)?-*[-+|]*$`)
)

func parseDcgmDiag(c *cursor) ([]Readings, int) {
	said := sentences{}
	var sets []*builder
	var cur *builder
	end := 0
	for i := 0; ; i++ {
		text, ok := c.line(i)
		t := strings.TrimSpace(text)
		if !ok || t == "" || i > tooFar && len(sets) == 0 {
			break
		}
		m := tableRow.FindStringSubmatch(t)
		switch {
		case strings.HasPrefix(t, "Successfully ran diagnostic"), dcgmDash.MatchString(t) && strings.Contains(t, "--"), strings.HasPrefix(t, "+="), strings.HasPrefix(t, "|="):
		case m == nil:
			said.finish()
			return readingsOf(sets), endIf(len(sets) > 0, end)
		case dcgmResult.MatchString(m[2]) && m[1] != "" && m[1] != "Result", dcgmMore.MatchString(m[2]) && m[1] == "" && cur != nil:
			name := m[1]
			if name == "" { // other GPUs of the test above had another result
				name = cur.Values["test.name"].Value
			}
			cur = newSet("dcgmi diag")
			cur.put("test.name", name, i, c.raw(i))
			cur.put("test.result", dcgmResult.FindStringSubmatch(m[2])[1], i, c.raw(i))
			dcgmSubject(cur, m[2])
			sets = append(sets, cur)
		case m[1] == "Error" && (cur == nil || said[cur].text != ""):
			// The deployment part names no test before its errors.
			cur = newSet("dcgmi diag")
			cur.put("test.name", "Deployment", i, c.raw(i))
			cur.put("test.result", "fail", i, c.raw(i))
			sets = append(sets, cur)
			fallthrough
		case cur != nil:
			// A detail: "| Warning | GPU 3 Double Bit ECC …" or the rest of a wrapped one.
			dcgmSubject(cur, m[2])
			if m[1] == "Warning" || m[1] == "Error" || m[1] == "Info" {
				cur.put("test.message", m[2], i, c.raw(i))
			}
			if m[1] != "Info" {
				said.add(cur, m[2], i, c.raw(i))
			}
		}
		end = i + 1
	}
	said.finish()
	return readingsOf(sets), endIf(len(sets) > 0, end)
}

// dcgmSubject names the GPU when a detail speaks of just one.
func dcgmSubject(b *builder, text string) {
	if m := dcgmGPU.FindAllStringSubmatch(text, 2); len(m) == 1 && b.Subject.GPU.Index == nil {
		b.Subject.GPU.Index = smallInt(m[0][1])
	}
}

// dcgmHealth reads `dcgmi health -c`.
var dcgmHealth = parser{
	starts:  []string{"Health Monitor Report", "Overall Health"},
	command: func(c Command) bool { return c.Tool == "dcgmi" && c.has("health") },
	parse:   parseDcgmHealth,
}

var healthSystem = lazyre.New(`(?i)^(PCIe|NVLink|PMU|MCU|Memory|SM|InfoROM|Thermal|Power|Driver|NVSwitch\w*(?: \w+)?)(?: system)?:? *(.*)$`)

func parseDcgmHealth(c *cursor) ([]Readings, int) {
	said := sentences{}
	var sets []*builder
	var cur *builder
	gpu := ""
	end := 0
	for i := 0; ; i++ {
		text, ok := c.line(i)
		t := strings.TrimSpace(text)
		if !ok || t == "" || i > tooFar && len(sets) == 0 {
			break
		}
		if !strings.HasPrefix(t, "|") && !strings.HasPrefix(t, "+") && t != "Health Monitor Report" {
			break
		}
		end = i + 1
		m := tableRow.FindStringSubmatch(t)
		if m == nil {
			continue
		}
		name, value := strings.TrimLeft(m[1], "-> "), m[2]
		switch {
		case strings.HasPrefix(name, "Overall Health"):
			cur = newSet("dcgmi health")
			cur.put("dcgm.health.overall", value, i, c.raw(i))
			sets = append(sets, cur)
		case dcgmGPU.MatchString(name):
			gpu = dcgmGPU.FindStringSubmatch(name)[1]
		case allDigits(name):
			gpu = name
		case strings.Contains(strings.ToLower(value), "health") || name == "" && cur != nil && cur.has("dcgm.health.system"):
			if cur != nil && cur.has("dcgm.health.system") {
				cur.put("dcgm.message", value, i, c.raw(i))
				said.add(cur, value, i, c.raw(i))
			}
		case healthSystem.MatchString(name) && isHealth(value):
			cur = newSet("dcgmi health")
			cur.put("index", gpu, i, c.raw(i))
			cur.put("dcgm.health.system", strings.ToLower(healthSystem.FindStringSubmatch(name)[1]), i, c.raw(i))
			cur.put("dcgm.health.state", value, i, c.raw(i))
			sets = append(sets, cur)
		}
	}
	said.finish()
	return readingsOf(sets), endIf(len(sets) > 0, end)
}

func isHealth(s string) bool {
	switch strings.ToLower(strings.Fields(s + " x")[0]) {
	case "healthy", "warning", "failure", "fail":
		return true
	}
	return false
}

// dcgmJSON reads `dcgmi diag -j` and `dcgmi nvlink -e -j`.
var dcgmJSON = parser{
	starts: []string{`"DCGM GPU Diagnostic"`, `"DCGM Diagnostic"`, `"NVLINK Error Counts"`, `"NVLINK Error`},
	parse:  parseDcgmJSON,
}

// deepest is more than any version nests, and what ends a file full of beginnings.
const deepest = 64

func parseDcgmJSON(c *cursor) ([]Readings, int) {
	// The document may begin a line or two above its first known word.
	start := 0
	for start > -3 {
		s, ok := c.line(start)
		if !ok {
			return nil, 0
		}
		if strings.HasPrefix(strings.TrimSpace(s), "{") && (start < 0 || len(s) > 1) {
			break
		}
		start--
	}
	if s, _ := c.line(start); !strings.HasPrefix(strings.TrimSpace(s), "{") && !strings.HasPrefix(strings.TrimSpace(s), "[") {
		return nil, 0 // from the middle of a document
	}
	var text strings.Builder
	depth := 0
	for i := start; i < 5000 && text.Len() < 1<<20; i++ {
		s, ok := c.line(i)
		if !ok {
			break
		}
		text.WriteString(s)
		text.WriteByte('\n')
		if depth += strings.Count(s, "{") - strings.Count(s, "}"); depth > deepest {
			return nil, 0
		}
		if depth > 0 {
			continue
		}
		var doc any
		if json.Unmarshal([]byte(text.String()), &doc) != nil {
			return nil, 0
		}
		w := &dcgmWalk{raw: c.raw(0)}
		w.walk(doc, "", "")
		if len(w.sets) == 0 || i < 0 {
			return nil, 0
		}
		return w.sets, i + 1
	}
	return nil, 0
}

// dcgmWalk gathers tests and error counts from whatever nesting a version uses.
type dcgmWalk struct {
	sets []Readings
	raw  string
	gpu  string
}

func (w *dcgmWalk) walk(v any, name, link string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				if m := dcgmGPU.FindStringSubmatch(s); m != nil {
					w.gpu = m[1]
				}
			}
		}
		for _, e := range v {
			w.walk(e, name, link)
		}
	case map[string]any:
		if h, ok := v["header"]; ok {
			w.walk(h, name, link)
		}
		if s, ok := v["name"].(string); ok {
			name = s
		}
		if s, ok := v["status"].(string); ok && name != "" {
			w.test(v, name, s)
		}
		for _, k := range sortedKeys(v) {
			if strings.HasPrefix(k, "Link ") {
				link = strings.TrimPrefix(k, "Link ")
			}
			if m, ok := v[k].(map[string]any); ok && link != "" {
				if s, ok := m["value"].(string); ok {
					w.link(k, s, link)
				}
			}
			if k != "header" {
				w.walk(v[k], name, link)
			}
		}
	}
}

func (w *dcgmWalk) test(v map[string]any, name, status string) {
	b := newSet("dcgmi diag")
	b.put("test.name", name, 0, w.raw)
	b.put("test.result", status, 0, w.raw)
	for _, k := range []string{"gpu_id", "gpu_ids", "entity_id"} {
		if s, ok := v[k].(string); ok && allDigits(s) {
			b.Subject.GPU.Index = smallInt(s)
		}
	}
	for _, k := range []string{"warnings", "info"} {
		if s, ok := v[k].(string); ok {
			b.put("test.message", s, 0, w.raw)
			if k == "warnings" {
				b.said(s, 0, w.raw)
			}
		}
	}
	w.sets = append(w.sets, b.Readings)
}

func (w *dcgmWalk) link(name, value, link string) {
	kind := strings.ToLower(strings.Fields(name + " x")[0])
	if strings.Contains(name, "FLIT") {
		kind = "crc_flit"
	}
	if !allDigits(value) {
		return
	}
	b := newSet("dcgmi nvlink")
	b.put("nvlink.errors."+kind, value, 0, w.raw)
	b.Subject.GPU.Index = smallInt(w.gpu)
	b.Subject.Link = link
	w.sets = append(w.sets, b.Readings)
}
