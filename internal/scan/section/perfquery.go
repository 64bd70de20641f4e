package section

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// perfquery reads `perfquery`, the counters of one InfiniBand port; ibCounters the same
// counters as files of sysfs with their path in front, as grep and tail print them.
var perfquery = parser{
	starts:  []string{"# Port counters: ", "# Port extended counters: "},
	command: func(c Command) bool { return c.Tool == "perfquery" },
	parse:   parsePerfquery,
}

var ibCounters = parser{
	starts:  []string{"/counters/symbol_error:", "/counters/link_downed:", "/counters/link_error_recovery:"},
	command: func(c Command) bool { return c.has("/counters/") },
	parse:   parseIBCounters,
}

var (
	perfHead    = lazyre.New(`^# Port (?:extended )?counters: Lid (\d+) port (\d+)\b`)
	perfRow     = lazyre.New(`^([A-Z]\w+):\.*\s*(0x[0-9a-fA-F]+|\d+)$`)
	counterFile = lazyre.New(`^\S*?([\w-]+)/ports/(\d+)/(?:hw_)?counters/(\w+):\s*(\d+)$`)
)

// perfNames are the counters that tell of the link; names of the readings are sysfs's.
var perfNames = map[string]string{
	"SymbolErrorCounter": "symbol_error", "LinkErrorRecoveryCounter": "link_error_recovery", "LinkDownedCounter": "link_downed",
	"PortRcvErrors": "port_rcv_errors", "PortRcvRemotePhysicalErrors": "port_rcv_remote_physical_errors",
	"PortXmitDiscards": "port_xmit_discards", "LocalLinkIntegrityErrors": "local_link_integrity_errors",
	"ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors",
}

func parsePerfquery(c *cursor) ([]Readings, int) {
	var sets []*builder
	var cur *builder
	end := 0
	for i, text := range c.from(0) {
		t := strings.TrimSpace(text)
		if m := perfHead.FindStringSubmatch(t); m != nil {
			cur = newPort("perfquery", "lid "+m[1], m[2], i, c.raw(i))
			sets, end = append(sets, cur), i+1
			continue
		}
		m := perfRow.FindStringSubmatch(t)
		if m == nil || cur == nil {
			break
		}
		if name := perfNames[m[1]]; name != "" {
			cur.put("ib.counter."+name, m[2], i, c.raw(i))
		}
		end = i + 1
	}
	return readingsOf(sets), endIf(len(sets) > 0, end)
}

func parseIBCounters(c *cursor) ([]Readings, int) {
	var sets []*builder
	of := map[string]*builder{}
	end := 0
	for i, text := range c.from(0) {
		m := counterFile.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			break
		}
		port := m[1] + "/" + m[2]
		b := of[port]
		if b == nil {
			b = newPort("sysfs counters", m[1], m[2], i, c.raw(i))
			of[port], sets = b, append(sets, b)
		}
		b.put("ib.counter."+strings.ToLower(m[3]), m[4], i, c.raw(i))
		end = i + 1
	}
	return readingsOf(sets), endIf(len(sets) > 0, end)
}
