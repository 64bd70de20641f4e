package section

import (
	"iter"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// A parser knows one form of output. parse sees the cursor with line 0 at a line
// that holds one of its starts and says how many lines it used.
type parser struct {
	starts []string
	// command tells whether a command line announces this output, so that the
	// parser may be tried on the lines below even without one of its starts.
	command func(Command) bool
	parse   func(*cursor) ([]Readings, int)
}

// parsers are tried in order; the first that uses lines wins. Narrow forms stand
// before wide ones.
var parsers = []parser{
	readingsDoc, smiXML, smiTable, smiCSV, smiList, smiMonitor, smiTopo, smiVersion, smiQuery,
	lspci, systemctl, ibstat, ibstatus, perfquery, ibCounters, dcgmLinks, dcgmDiag, dcgmHealth, dcgmJSON, dcgmExport,
	iomem, holders, lsof, ipmiSEL, driverVersion, nvcc, modinfo, freeMemory, ulimitAll, diskFree,
	bandwidthTest, nvbandwidth, ncclTests, gpuBurn,
}

// Starts returns the literals that begin or betray a section line. A line that
// holds none of them can't begin a section.
func Starts() []string {
	seen := map[string]bool{}
	var out []string
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for _, s := range commandStarts {
		add(s)
	}
	for _, p := range parsers {
		for _, s := range p.starts {
			add(s)
		}
	}
	return out
}

// MayStart reports whether a text holds the start of a section.
func MayStart(text string) bool { return containsAny(text, allStarts) }

var allStarts = Starts()

// Text is a whole text as [Lines], standing at its first.
type Text []string

// TextOf parts a text into its lines; a line feed at its end begins none.
func TextOf(s string) Text { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

func (t Text) Line(i int) (string, bool) {
	if i < 0 || i >= len(t) {
		return "", false
	}
	return t[i], true
}

// Parse reads the section that begins at (or around) line 0 and says how many
// lines it used; 0 means that no section begins here.
func Parse(lines Lines) (set []Readings, consumed int) {
	c := &cursor{lines: lines}
	first, ok := c.line(0)
	if !ok {
		return nil, 0
	}
	if cmd, ok := ParseCommand(first); ok {
		return parseBelow(c, cmd)
	}
	c.cmd, _ = commandAbove(lines)
	if sets, n := tryParsers(c, first); n > 0 {
		return sets, n
	}
	for _, re := range prefixes {
		loc := re.FindStringIndex(first)
		if loc == nil {
			continue
		}
		framed := &cursor{lines: lines, strip: re}
		if cmd, ok := ParseCommand(first[loc[1]:]); ok {
			return parseBelow(framed, cmd)
		}
		return tryParsers(framed, first[loc[1]:])
	}
	return nil, 0
}

// prefixes are what a logger puts before each line of a tool's output: syslog,
// journalctl, CRI, kubectl with --prefix, srun with -l. The section goes on while the
// lines have a prefix of the same form.
var prefixes = []*lazyre.Regexp{
	lazyre.New(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \S+ [\w./@-]+(?:\[\d+\])?: `),
	lazyre.New(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* std(?:out|err) [FP] `),
	lazyre.New(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* (?:\S+ )?[\w./@-]+(?:\[\d+\])?: `),
	lazyre.New(`^\[(?:pod/)?[\w./-]+\] `),
	lazyre.New(`^ *\d{1,5}: `),
}

// parseBelow reads what a shell command printed.
func parseBelow(c *cursor, cmd Command) ([]Readings, int) {
	below := &cursor{lines: c.lines, off: c.off + 1, cmd: cmd, strip: c.strip}
	for blank := 0; ; blank++ {
		text, ok := below.line(0)
		if !ok || blank > 3 {
			return nil, 0
		}
		if strings.TrimSpace(text) != "" {
			break
		}
		below.off++
	}
	first, _ := below.line(0)
	if _, again := ParseCommand(first); again {
		return nil, 0
	}
	for _, p := range parsers {
		if p.command == nil || !p.command(cmd) {
			continue
		}
		if sets, n := p.parse(below); n > 0 {
			return shift(sets, below.off), below.off + n
		}
	}
	sets, n := tryParsers(below, first)
	if n == 0 {
		return pairFromCommand(c, cmd)
	}
	return shift(sets, below.off), below.off + n
}

var smiAddress = lazyre.New(`\b[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\b`)

// pairFromCommand learns which address an index has: `nvidia-smi -i 2 …` whose
// messages speak of one address only. It uses the command's line alone, since the
// messages are for matchers.
func pairFromCommand(c *cursor, cmd Command) ([]Readings, int) {
	if cmd.Tool != "nvidia-smi" || cmd.GPU.Index == nil {
		return nil, 0
	}
	found := ""
	for i := 1; i <= 6; i++ {
		text, ok := c.line(i)
		if !ok {
			break
		}
		if _, again := ParseCommand(text); again {
			break
		}
		for _, a := range smiAddress.FindAllString(text, 4) {
			if found != "" && found != a {
				return nil, 0
			}
			found = a
		}
	}
	if found == "" {
		return nil, 0
	}
	text := c.raw(0)
	b := newSet("nvidia-smi -i")
	b.put("index", strconv.Itoa(*cmd.GPU.Index), 0, text)
	b.put("pci", found, 0, text)
	return []Readings{b.Readings}, 1
}

func tryParsers(c *cursor, first string) ([]Readings, int) {
	for _, p := range parsers {
		if !containsAny(first, p.starts) {
			continue
		}
		if sets, n := p.parse(c); n > 0 {
			return sets, n
		}
	}
	return nil, 0
}

func shift(sets []Readings, by int) []Readings {
	for i := range sets {
		sets[i].Shift(by)
	}
	return sets
}

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// tooFar is where a parser that found nothing yet gives up, so that a file full of
// beginnings costs no more than its length.
const tooFar = 200

// maxSection bounds how far one section may reach: the longest real ones are XML
// reports of many GPUs and lspci listings of whole nodes.
const maxSection = 60000

// A cursor is a Lines with an offset, the command that printed the lines (when
// known), and cleaned text.
type cursor struct {
	lines Lines
	off   int
	cmd   Command
	strip *lazyre.Regexp // prefix of every line, see prefixes
}

// line returns line i without carriage return, colours and trailing blanks.
func (c *cursor) line(i int) (string, bool) {
	if i > maxSection {
		return "", false
	}
	s, ok := c.lines.Line(c.off + i)
	if !ok {
		return "", false
	}
	s = clean(s)
	if c.strip != nil {
		loc := c.strip.FindStringIndex(s)
		if loc == nil {
			// A logger may drop the blank before nothing.
			loc = c.strip.FindStringIndex(s + " ")
			if loc == nil {
				return "", false
			}
			return "", true
		}
		s = s[loc[1]:]
	}
	return s, true
}

// from gives the lines from line i on, with their numbers.
func (c *cursor) from(i int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for ; ; i++ {
			if text, ok := c.line(i); !ok || !yield(i, text) {
				return
			}
		}
	}
}

// report gives the lines of a report to take, until one is not of it or more blank
// lines (or grep's "--") than given stand in a row. It returns the end behind the last
// line that was taken.
func (c *cursor) report(blankRows int, take func(text string, i int, raw string, afterBlank bool) bool) (end int) {
	blanks := 0
	for i, text := range c.from(0) {
		if strings.TrimSpace(text) == "" || text == "--" {
			if blanks++; blanks > blankRows {
				return end
			}
			continue
		}
		if !take(text, i, c.raw(i), blanks > 0) {
			return end
		}
		end, blanks = i+1, 0
	}
	return end
}

// raw returns line i as it stands.
func (c *cursor) raw(i int) string {
	s, _ := c.lines.Line(c.off + i)
	return s
}

// clean strips what terminals and Windows leave behind. Lines of absurd length are
// cut: no tool writes them.
func clean(s string) string {
	const longest = 16 << 10
	if len(s) > longest {
		s = s[:longest]
	}
	s = strings.TrimPrefix(s, "\ufeff")
	if strings.Contains(s, "\u00a0") { // of a web page
		s = strings.ReplaceAll(s, "\u00a0", " ")
	}
	s = strings.TrimRight(s, " \t\r\n")
	if !strings.Contains(s, "\x1b") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != 0x1b {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '[' {
			for i += 2; i < len(s) && (s[i] < '@' || s[i] > '~'); i++ {
			}
		}
	}
	return strings.TrimRight(b.String(), " \t\r")
}
