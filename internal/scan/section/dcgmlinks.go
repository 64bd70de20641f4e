package section

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// dcgmLinks reads `dcgmi nvlink --link-status`: a letter for each link of a GPU. The
// rows of switches are passed over: which of their ports a product uses is not said.
var dcgmLinks = parser{
	starts:  []string{"NvLink Link Status"},
	command: func(c Command) bool { return c.Tool == "dcgmi" && c.has("nvlink") },
	parse:   parseDcgmLinks,
}

var (
	linksGPU = lazyre.New(`^gpuId (\d+):$`)
	linksRow = lazyre.New(`^[UDX_](?: [UDX_])*$`)
	// linksOther is what else stands in the answer.
	linksOther = lazyre.New(`^(?:[-+|=]+(?: *NvLink Link Status *\|)?|GPUs:|NvSwitches:|No \w+ found\.|physicalId \d+:|Key: .*|)$`)
)

func parseDcgmLinks(c *cursor) ([]Readings, int) {
	var out []*builder
	var cur *builder
	end := 0
	for i, text := range c.from(0) {
		t := strings.TrimSpace(text)
		switch m := linksGPU.FindStringSubmatch(t); {
		case m != nil:
			cur = newSet("dcgmi nvlink")
			cur.put("index", m[1], i, c.raw(i))
		case linksRow.MatchString(t):
			if cur != nil {
				cur.putLinks(strings.Fields(t), i, c.raw(i))
				out, end = append(out, cur), i+1
			}
			cur = nil
		case !linksOther.MatchString(t):
			return readingsOf(out), endIf(len(out) > 0, end)
		default:
			cur = nil
		}
	}
	return readingsOf(out), endIf(len(out) > 0, end)
}

// putLinks counts the letters: U up, D down; X is switched off and _ not there.
func (b *builder) putLinks(letters []string, line int, raw string) {
	var down []string
	up := 0
	for link, l := range letters {
		switch l {
		case "U":
			up++
		case "D":
			down = append(down, strconv.Itoa(link))
		}
	}
	if !slices.Contains(letters, "U") && len(down) == 0 {
		return // a product without NVLink
	}
	b.put("nvlink.links.active", strconv.Itoa(up), line, raw)
	switch {
	case up == 0:
		b.put("nvlink.all_inactive", "yes", line, raw)
	case len(down) > 0:
		b.Subject.Link = down[0]
		b.put("nvlink.links.inactive", strconv.Itoa(len(down)), line, raw)
		b.put("nvlink.links.down", strings.Join(down, ","), line, raw)
	}
}
