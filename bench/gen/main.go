// Command gen writes a log of any size for measuring: ordinary lines of a node or of a
// training job, and among them a chosen share of lines that tell of a fault. The same
// flags give the same bytes. bench/scan.sh uses it; it is no part of gpumedic.
//
//	go run ./bench/gen -kind kernel -size 256M -hits 1 >kernel-1.log
//
// The lines are templates in the .txt files beside this one: holes such as {n:4096}
// or {pci} are filled anew each time, so that few lines are equal, as in real logs.
package main

import (
	"bufio"
	"embed"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

//go:embed *.txt
var templates embed.FS

func main() {
	kind := flag.String("kind", "kernel", "kernel (a node's syslog) or train (a job's output)")
	size := flag.String("size", "64M", "bytes; K, M and G are powers of 1024")
	hits := flag.Float64("hits", 1, "percentage of lines that tell of a fault")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	if err := run(os.Stdout, *kind, *size, *hits, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "gen: error:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, kind, size string, hits float64, seed uint64) error {
	want, err := bytesOf(size)
	if err != nil {
		return err
	}
	plain, err := load(kind + ".txt")
	if err != nil {
		return fmt.Errorf("read -kind: unknown kind %q: kinds are kernel and train", kind)
	}
	faults, err := load(kind + "-faults.txt")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	g := &gen{rng: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 2, 11, 12, 0, 0, 0, time.UTC)}
	var line []byte
	for wrote := int64(0); wrote < want; wrote += int64(len(line)) {
		from := plain
		if g.rng.Float64()*100 < hits {
			from = faults
		}
		g.now = g.now.Add(time.Duration(g.rng.IntN(40)) * time.Millisecond)
		g.step++
		line = g.fill(line[:0], from[g.rng.IntN(len(from))])
		if _, err := w.Write(line); err != nil {
			return fmt.Errorf("write lines: %w", err)
		}
	}
	return w.Flush()
}

func bytesOf(s string) (int64, error) {
	shift := 0
	switch {
	case strings.HasSuffix(s, "K"):
		shift = 10
	case strings.HasSuffix(s, "M"):
		shift = 20
	case strings.HasSuffix(s, "G"):
		shift = 30
	}
	n, err := strconv.ParseInt(strings.TrimRight(s, "KMG"), 10, 33)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("read -size: cannot read %q: write 256M or 1G", s)
	}
	return n << shift, nil
}

// template is literal text and holes in turn, a text first.
type template []struct {
	text string
	hole string
	arg  int
}

// load reads the templates of a file: one a line, # begins a comment, and a number and
// a tab before a line says how often it stands for one.
func load(name string) ([]template, error) {
	b, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out []template
	for line := range strings.SplitSeq(string(b), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		times := 1
		if n, rest, ok := strings.Cut(line, "\t"); ok {
			if k, err := strconv.Atoi(n); err == nil {
				times, line = k, rest
			}
		}
		t := parse(line)
		for range times {
			out = append(out, t)
		}
	}
	return out, nil
}

func parse(line string) template {
	var t template
	for {
		text, rest, ok := strings.Cut(line, "{")
		hole, tail, closed := strings.Cut(rest, "}")
		name, arg, _ := strings.Cut(hole, ":")
		n, _ := strconv.Atoi(arg)
		t = append(t, struct {
			text string
			hole string
			arg  int
		}{strings.ReplaceAll(text, `\t`, "\t"), name, n})
		if !ok || !closed {
			return t
		}
		line = tail
	}
}

type gen struct {
	rng  *rand.Rand
	now  time.Time
	step int
}

func (g *gen) fill(b []byte, t template) []byte {
	for _, part := range t {
		b = g.hole(append(b, part.text...), part.hole, part.arg)
	}
	return append(b, '\n')
}

var (
	nodes = []string{"gpu-n017", "gpu-n018", "gpu-n019", "gpu-n020"}
	cards = []string{"0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00", "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00"}
	nics  = []string{"0000:19:00", "0000:3b:00", "0000:4c:00", "0000:5d:00", "0000:9b:00", "0000:bb:00", "0000:cb:00", "0000:db:00"}
	ports = []string{"0000:15:01", "0000:37:01", "0000:48:01", "0000:59:01", "0000:97:01", "0000:b7:01", "0000:c7:01", "0000:d7:01"}
	users = []string{"root", "ops", "ubuntu", "slurm", "mlu"}
)

// hole fills one hole of a template.
func (g *gen) hole(b []byte, name string, arg int) []byte {
	switch name {
	case "syslog": // time and host of a syslog line
		b = g.now.AppendFormat(b, "Jan _2 15:04:05 ")
		return append(b, nodes[g.rng.IntN(len(nodes))]...)
	case "dmesg": // seconds since boot, as the kernel prints them
		us := g.now.UnixMicro() - 1_770_000_000_000_000
		return fmt.Appendf(b, "[%6d.%06d]", us/1_000_000, us%1_000_000)
	case "iso":
		return g.now.AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	case "time":
		return g.now.AppendFormat(b, "2006-01-02 15:04:05,000")
	case "klog":
		return g.now.AppendFormat(b, "0102 15:04:05.000000")
	case "unix":
		return strconv.AppendInt(b, g.now.Unix(), 10)
	case "step":
		return strconv.AppendInt(b, int64(g.step), 10)
	case "open":
		return append(b, '{')
	case "n": // a number below arg
		return strconv.AppendInt(b, g.rng.Int64N(int64(max(arg, 1))), 10)
	case "x": // arg hex digits
		const digits = "0123456789abcdef"
		for range arg {
			b = append(b, digits[g.rng.IntN(16)])
		}
		return b
	case "f": // a fraction with arg digits
		return strconv.AppendFloat(b, g.rng.Float64(), 'f', arg, 64)
	case "loss": // falls as steps go on, with noise
		return strconv.AppendFloat(b, 1.7+9/(1+float64(g.step)/2e5)+g.rng.Float64()/8, 'f', 4, 64)
	case "pci":
		return append(b, cards[g.rng.IntN(len(cards))]...)
	case "nic":
		return append(b, nics[g.rng.IntN(len(nics))]...)
	case "port":
		return append(b, ports[g.rng.IntN(len(ports))]...)
	case "pid": // of a worker: the same few come again
		return strconv.AppendInt(b, 41200+7*g.rng.Int64N(32), 10)
	case "ip":
		return fmt.Appendf(b, "10.%d.%d.%d", g.rng.IntN(4), g.rng.IntN(256), g.rng.IntN(256))
	case "mac":
		return fmt.Appendf(b, "02:42:%02x:%02x:%02x:%02x", g.rng.IntN(256), g.rng.IntN(256), g.rng.IntN(256), g.rng.IntN(256))
	case "user":
		return append(b, users[g.rng.IntN(len(users))]...)
	case "node":
		return append(b, nodes[g.rng.IntN(len(nodes))]...)
	case "uuid":
		return fmt.Appendf(b, "%08x-%04x-%04x-%04x-%012x", g.rng.Uint32(), g.rng.IntN(1<<16), g.rng.IntN(1<<16), g.rng.IntN(1<<16), g.rng.Int64N(1<<48))
	}
	return b
}
