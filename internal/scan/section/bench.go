package section

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Programs that measure copies and collectives: what they print becomes figures. A
// figure alone is no fault (a board, a slot and a host all set its limit); one that is
// far below those of equal GPUs in the same output is.

// bandwidthTest reads the CUDA sample of that name: the shmoo and CSV lines of one size
// each, and the tables under "Host to Device Bandwidth". The largest size counts: small
// copies measure latency.
var bandwidthTest = parser{
	starts: []string{"[CUDA Bandwidth Test]", "bandwidthTest-"},
	parse:  parseBandwidthTest,
}

var (
	benchLine  = lazyre.New(`^bandwidthTest-(H2D|D2H|D2D)\S*, Bandwidth = ([\d.]+) ([GM]B)/s, Time = .*Size = (\d+) bytes`)
	benchHead  = lazyre.New(`^\s*(Host to Device|Device to Host|Device to Device) Bandwidth`)
	benchRow   = lazyre.New(`^\s*(\d{4,})\s+([\d.]+)$`)
	benchUnit  = lazyre.New(`Bandwidth\(([GM]B)/s\)`)
	benchGPU   = lazyre.New(`^\s*Device (\d+): (.+)$`)
	directions = map[string]string{
		"H2D": "h2d", "D2H": "d2h", "D2D": "d2d", "Host to Device": "h2d", "Device to Host": "d2h", "Device to Device": "d2d",
	}
)

func parseBandwidthTest(c *cursor) ([]Readings, int) {
	b := newSet("bandwidthTest")
	way, unit := "", "GB"
	largest := map[string]float64{}
	figure := func(way, text, unit string, size string, i int, raw string) {
		n, err := strconv.ParseFloat(size, 64)
		v, err2 := strconv.ParseFloat(text, 64)
		if err != nil || err2 != nil || n < largest[way] {
			return
		}
		if largest[way] = n; unit == "MB" {
			v /= 1000
		}
		key := "bandwidth." + way + ".gbs"
		delete(b.Values, key)
		b.put(key, strconv.FormatFloat(v, 'f', -1, 64), i, raw)
	}
	end := c.report(3, func(text string, i int, raw string, _ bool) bool {
		t := strings.TrimSpace(text)
		m := benchLine.FindStringSubmatch(t)
		switch {
		case m != nil:
			figure(directions[m[1]], m[2], m[3], m[4], i, raw)
		case benchGPU.MatchString(t):
			g := benchGPU.FindStringSubmatch(t)
			b.put("index", g[1], i, raw)
			b.put("name", g[2], i, raw)
		case benchHead.MatchString(t):
			way, unit = directions[benchHead.FindStringSubmatch(t)[1]], "GB"
		case benchUnit.MatchString(t):
			unit = benchUnit.FindStringSubmatch(t)[1]
		case way != "" && benchRow.MatchString(t):
			r := benchRow.FindStringSubmatch(t)
			figure(way, r[2], unit, r[1], i, raw)
		case strings.HasPrefix(t, "[CUDA Bandwidth Test]"):
			return i == 0 // else the next run
		case strings.HasPrefix(t, "Running on"), strings.HasSuffix(t, "Mode"), strings.Trim(t, ".") == "",
			strings.HasPrefix(t, "PINNED"), strings.HasPrefix(t, "PAGEABLE"), strings.HasPrefix(t, "Transfer Size"),
			strings.HasPrefix(t, "Result = "), strings.HasPrefix(t, "NOTE:"):
		default:
			return false
		}
		return true
	})
	return built([]*builder{b}), endIf(!b.empty(), end)
}

// nvbandwidth reads the matrices of NVIDIA's nvbandwidth: of the host with each GPU, one
// row with a column a GPU; of GPUs with each other, a row each, of which the slowest pair
// counts.
var nvbandwidth = parser{
	starts: []string{"Running host_to_", "Running device_", "Running all_to_", "Running one_to_all_"},
	parse:  parseNVBandwidth,
}

var nvbandwidthHead = lazyre.New(`^Running (?:host|device|all|one)_\w+\.?$`)

func parseNVBandwidth(c *cursor) ([]Readings, int) {
	first, _ := c.line(0)
	if !nvbandwidthHead.MatchString(strings.TrimSpace(first)) {
		return nil, 0
	}
	if !strings.HasPrefix(first, "Running host_to_device_memcpy") && !strings.HasPrefix(first, "Running device_to_host_memcpy") &&
		!strings.HasPrefix(first, "Running host_to_device_bidirectional") && !strings.HasPrefix(first, "Running device_to_host_bidirectional") {
		return pairs(c)
	}
	way := "h2d"
	if strings.Contains(first, "device_to_host") {
		way = "d2h"
	}
	if strings.Contains(first, "bidirectional") {
		way += "_both"
	}
	var columns []string
	for i := 1; i < 8; i++ {
		text, ok := c.line(i)
		if !ok || strings.HasPrefix(text, "Running ") {
			break
		}
		cells := strings.Fields(text)
		switch {
		case len(cells) == 0 || strings.HasPrefix(text, "memcpy"):
		case columns == nil:
			for _, s := range cells {
				if !allDigits(s) {
					return nil, 0
				}
			}
			columns = cells
		case cells[0] == "0" && len(cells) >= 2:
			var out []*builder
			for j, v := range cells[1:] {
				if j >= len(columns) {
					break
				}
				if _, ok := num(v); !ok {
					continue // N/A: waived
				}
				b := newSet("nvbandwidth")
				b.put("index", columns[j], i, c.raw(i))
				b.put("bandwidth."+way+".gbs", v, i, c.raw(i))
				out = append(out, b)
			}
			return built(out), endIf(len(out) > 0, i+1)
		default:
			return nil, 0
		}
	}
	return nil, 0
}

// pairs reads a matrix of GPUs with each other.
func pairs(c *cursor) ([]Readings, int) {
	var out []*builder
	end, header := 1, false
	for i, text := range c.from(1) {
		cells := strings.Fields(text)
		switch {
		case strings.HasPrefix(text, "Running "):
			return built(out), end
		case strings.HasPrefix(text, "Waived"), strings.HasPrefix(text, "memcpy"), strings.HasPrefix(text, "SUM "):
		case len(cells) == 0:
			if header {
				return built(out), end
			}
			continue
		case !header && allDigits(cells[0]):
			header = true
		case header && allDigits(cells[0]) && len(cells) >= 2:
			slowest, at := -1.0, ""
			for _, s := range cells[1:] {
				if v, ok := num(s); ok && (slowest < 0 || v < slowest) {
					slowest, at = v, s
				}
			}
			b := newSet("nvbandwidth")
			b.put("index", cells[0], i, c.raw(i))
			if at != "" {
				b.put("bandwidth.pair.gbs", at, i, c.raw(i))
			}
			out = append(out, b)
		default:
			return built(out), end
		}
		end = i + 1
	}
	return built(out), end
}

// ncclTests reads nccl-tests: the average bus bandwidth and, where the run validated,
// how many values were wrong.
var ncclTests = parser{
	starts: []string{"# nThread "},
	parse:  parseNCCLTests,
}

var (
	ncclValidation = lazyre.New(`\bvalidation: (\d)`)
	ncclAverage    = lazyre.New(`^# Avg bus bandwidth\s*:\s*([\d.]+)`)
	ncclRow        = lazyre.New(`^\s*\d+\s+\d+\s+\w+\s+`)
)

func parseNCCLTests(c *cursor) ([]Readings, int) {
	b := newSet("nccl-tests")
	validated, wrong, over := false, -1.0, false
	end := c.report(3, func(text string, i int, raw string, _ bool) bool {
		t := strings.TrimSpace(text)
		switch {
		case over:
			return false
		case i == 0:
			m := ncclValidation.FindStringSubmatch(t)
			validated = m != nil && m[1] == "1"
			b.put("bench.validated", gpumedic.YesNo(validated), i, raw)
		case ncclAverage.MatchString(t):
			b.put("bandwidth.bus.gbs", ncclAverage.FindStringSubmatch(t)[1], i, raw)
			over = true
		case strings.HasPrefix(t, "#"), strings.HasPrefix(t, "NCCL version"), strings.Contains(t, "NCCL INFO"), strings.Contains(t, "NCCL WARN"):
		case ncclRow.MatchString(t):
			if n := ncclWrong(strings.Fields(t)); n > wrong && validated {
				wrong = n
				delete(b.Values, "bench.wrong")
				b.put("bench.wrong", strconv.FormatFloat(n, 'f', -1, 64), i, raw)
			}
		default:
			return false
		}
		return true
	})
	return built([]*builder{b}), end
}

// ncclWrong is the sum of the #wrong columns of a row: the last, and the fourth before.
// "N/A" means that nothing was compared.
func ncclWrong(cells []string) float64 {
	if len(cells) < 9 {
		return -1
	}
	sum := -1.0
	for _, at := range []int{len(cells) - 1, len(cells) - 5} {
		if v, ok := num(cells[at]); ok {
			sum = max(sum, 0) + v
		}
	}
	return sum
}

// gpuBurn reads the list at the end of a gpu-burn run, and the lines of its progress:
// a run that was stopped has no list. Errors are those since the line before.
var gpuBurn = parser{
	starts: []string{"Tested ", "proc'd: "},
	parse:  parseGPUBurn,
}

var (
	burnProgress = lazyre.New(`proc'd: \d.*\berrors: (\d+(?: +- +\d+)*)`)

	burnHead = lazyre.New(`^Tested \d+ GPUs?:$`)
	burnRow  = lazyre.New(`^GPU (\d+): (OK|FAULTY)\b`)
)

func parseGPUBurn(c *cursor) ([]Readings, int) {
	first, _ := c.line(0)
	if burnProgress.MatchString(first) {
		return burning(c)
	}
	if !burnHead.MatchString(strings.TrimSpace(first)) {
		return nil, 0
	}
	var out []*builder
	end := 1
	for i, text := range c.from(1) {
		m := burnRow.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			break
		}
		b := newSet("gpu-burn")
		b.put("index", m[1], i, c.raw(i))
		b.put("bench.result", strings.ToLower(m[2]), i, c.raw(i))
		out = append(out, b)
		end = i + 1
	}
	return built(out), endIf(len(out) > 0, end)
}

// burning reads the lines of progress that stand together.
func burning(c *cursor) ([]Readings, int) {
	var out []*builder
	most := map[int]float64{}
	end, blanks := 0, 0
	for i, text := range c.from(0) {
		m := burnProgress.FindStringSubmatch(text)
		if m == nil {
			t := strings.TrimSpace(text)
			if blanks++; blanks > 4 || t != "" && !strings.HasPrefix(t, "Summary at:") {
				break
			}
			continue
		}
		blanks, end = 0, i+1
		for gpu, s := range strings.Split(m[1], "-") {
			n, ok := num(strings.TrimSpace(s))
			if gpu == len(out) {
				b := newSet("gpu-burn")
				b.put("index", strconv.Itoa(gpu), i, c.raw(i))
				out = append(out, b)
				most[gpu] = -1
			}
			if gpu < len(out) && ok && n > most[gpu] {
				most[gpu] = n
				delete(out[gpu].Values, "bench.errors")
				out[gpu].put("bench.errors", strconv.FormatFloat(n, 'f', -1, 64), i, c.raw(i))
			}
		}
	}
	return built(out), end
}
