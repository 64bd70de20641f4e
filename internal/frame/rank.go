package frame

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Kinds of rank. The same number means different processes: a global rank is one of
// the job, a local rank one of its node, a task one of the launcher.
const (
	RankGlobal = "global"
	RankLocal  = "local"
	RankTask   = "task"
)

// rankOrder says which kind tells more where a line bears several.
var rankOrder = map[string]int{"": 0, RankTask: 1, RankLocal: 2, RankGlobal: 3}

// setRank notes a rank unless a better one is known.
func (m *Message) setRank(kind, n string) {
	if len(n) > 6 || rankOrder[kind] < rankOrder[m.RankKind] {
		return
	}
	if n = strings.TrimLeft(n, "0"); n == "" {
		n = "0"
	}
	m.Rank, m.RankKind = n, kind
}

// addTask notes what a launcher calls the process, from the outside in.
func (m *Message) addTask(name string) {
	if m.Task != "" {
		name = m.Task + " " + name
	}
	m.Task = name
}

const rankItem = `(?:(?:(global|world|local)[ _-]?)?rank[ :=_-]{0,2}(\d{1,6})|(?:node|gpu|cuda|device|dp|tp|pp|ep|cp|stage)[ :=_-]{0,2}\d{1,5})`

var (
	rankTag  = lazyre.New(`^(?i:` + rankItem + `(?:[ ,|/;]+` + rankItem + `)*)(?:/\d{1,6})?$`)
	rankPart = lazyre.New(`(?i)` + rankItem)
	roleTag  = lazyre.New(`^\[(?:default|trainer|worker|learner|actor|main|train)(\d{1,4})\]: ?`)
	mpiTag   = lazyre.New(`^\[(?:[^\]\s@]{1,80}@)?(\d{1,9}),(\d{1,6})\]<std(?:out|err|diag)>: ?`)
	hvdTag   = lazyre.New(`^\[(\d{1,6})\]<std(?:out|err)>: ?`)
	rankWord = lazyre.New(`^(?i:(global|local)[ _-]?)?[Rr](?:ank|ANK)[ _=-]?(\d{1,5}) ?[:|>] `)
	textRank = lazyre.New(`\[(?:[^\[\]]{0,120} )?[Rr]ank (\d{1,6})\]`)
	serverTP = lazyre.New(`^((?: (?:TP|DP|PP|EP|CP|ATTN_[DT]P)\d{1,4})+)\]`)
)

// rankBracket peels what launchers and loggers put before a line of a rank:
// "[rank3]: ", "[default3]:", "[Rank 5] ", "[rank: 3]", "[1,3]<stderr>:".
func (p *peeler) rankBracket() bool {
	s := p.rest
	if len(s) < 4 || s[0] != '[' {
		return false
	}
	if isDigit(s[1]) || strings.IndexByte(s[:min(len(s), 100)], '@') > 0 {
		if !strings.Contains(s[:min(len(s), 120)], "]<std") {
			return false
		}
		if m := mpiTag.FindStringSubmatch(s); m != nil {
			p.m.addTask("job " + m[1])
			return p.takeRank(len(m[0]), RankGlobal, m[2])
		}
		if m := hvdTag.FindStringSubmatch(s); m != nil {
			return p.takeRank(len(m[0]), RankGlobal, m[1])
		}
		return false
	}
	if !isAlpha(s[1]) {
		return false
	}
	if m := roleTag.FindStringSubmatch(s); m != nil {
		return p.takeRank(len(m[0]), RankLocal, m[1])
	}
	end := strings.IndexByte(s[:min(len(s), 80)], ']')
	if end < 0 || !p.m.readRankTag(s[1:end]) {
		return false
	}
	end++
	if end < len(s) && s[end] == ':' {
		end++
	}
	p.advance(end)
	return true
}

func (p *peeler) takeRank(n int, kind, rank string) bool {
	p.m.setRank(kind, rank)
	p.advance(n)
	return true
}

// readRankTag reads "rank3", "Rank 5", "node=1 rank=3", "local_rank: 2".
func (m *Message) readRankTag(s string) bool {
	if n := plainRank(s); n != "" { // nearly all
		m.setRank(RankGlobal, n)
		return true
	}
	if !strings.Contains(s, "ank") && !strings.Contains(s, "ANK") || !rankTag.MatchString(s) {
		return false
	}
	for _, part := range rankPart.FindAllStringSubmatch(s, 4) {
		switch {
		case part[2] == "":
			m.addTask(strings.ToLower(part[0]))
		case strings.EqualFold(part[1], "local"):
			m.setRank(RankLocal, part[2])
		default:
			m.setRank(RankGlobal, part[2])
		}
	}
	return true
}

// plainRank is the number of "rank3" and "Rank 5", "" for anything else.
func plainRank(s string) string {
	rest, ok := strings.CutPrefix(s, "rank")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "Rank"); !ok {
			return ""
		}
	}
	rest = strings.TrimPrefix(rest, " ")
	if !allDigits(rest, 6) {
		return ""
	}
	return rest
}

// rankPrefix peels "rank 3: " and "Rank3: ".
func (p *peeler) rankPrefix() bool {
	if len(p.rest) < 6 || strings.IndexByte("rRgGlL", p.rest[0]) < 0 {
		return false
	}
	m := rankWord.FindStringSubmatch(p.rest)
	if m == nil {
		return false
	}
	kind := RankGlobal
	if strings.EqualFold(m[1], "local") {
		kind = RankLocal
	}
	return p.takeRank(len(m[0]), kind, m[2])
}

// serverBracket peels "[2025-01-07 03:15:11 TP3]" of inference servers.
func (p *peeler) serverBracket() bool {
	s := p.rest
	st, n := parseISO(s[1:])
	if n == 0 {
		return false
	}
	m := serverTP.FindStringSubmatch(s[1+n:])
	if m == nil {
		return false
	}
	tag := strings.TrimSpace(m[1])
	p.m.addTask(tag)
	p.advance(1 + n + len(m[0]))
	p.setStamp(st)
	p.m.rankOfParallel(strings.Fields(tag))
	p.appTime = true
	return true
}

var parallel = lazyre.New(`^(TP|DP|PP|EP|CP)(\d{1,4})$`)

// rankOfParallel takes the tensor-parallel index for the local rank where no
// pipeline multiplies it.
func (m *Message) rankOfParallel(words []string) {
	tp := ""
	for _, w := range words {
		k := parallel.FindStringSubmatch(w)
		switch {
		case k == nil:
		case k[1] == "PP" && k[2] != "0", k[1] == "CP" && k[2] != "0":
			return
		case k[1] == "TP":
			tp = k[2]
		}
	}
	if tp != "" {
		m.setRank(RankLocal, tp)
	}
}

// RankInText reads the rank that a message names near its front: "[E
// ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog …". It speaks of that rank, and need not
// be written by it, so it is no part of the framing.
func RankInText(text string) string {
	head := text[:min(len(text), 240)]
	if !strings.Contains(head, "ank ") {
		return ""
	}
	if f := textRank.FindStringSubmatch(head); f != nil {
		return f[1]
	}
	return ""
}
