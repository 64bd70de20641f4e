package frame

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	actorPID  = lazyre.New(`\bpid=(\d{1,10})\b`)
	actorIP   = lazyre.New(`\bip=([0-9a-fA-F.:]{3,45})\b`)
	actorRank = lazyre.New(`\b(local_)?rank=(\d{1,6})\b`)
	// repeatedAcross is how Ray says that other workers wrote the same line.
	repeatedAcross = lazyre.New(` \[repeated (\d{1,7})x across (?:cluster|all nodes)\](?: \(Ray dedup.*)?$`)
	rayService     = lazyre.New(`^(?:raylet|gcs_server|autoscaler|scheduler|dashboard|log_monitor|bundle_reservation_check_func)(?:[ ,]|$)`)
)

// actor peels what Ray and vLLM put before a worker's line: "(pid=123, ip=10.0.0.3)",
// "(RayTrainWorker pid=123)", "(EngineCore_0 pid=512399)", "(raylet)".
func (p *peeler) actor() bool {
	s := p.rest
	end := closeParen(s[:min(len(s), 200)])
	if end < 0 || end+1 < len(s) && s[end+1] != ' ' {
		return false
	}
	in := s[1:end]
	pid := actorPID.FindStringSubmatch(in)
	switch {
	case pid != nil && actorForm(in):
		p.m.PID, _ = strconv.Atoi(pid[1])
	case rayService.MatchString(in):
	case p.m.readRankTag(in):
		p.advance(end + 1)
		return true
	default:
		return false
	}
	name, _, _ := strings.Cut(in, ",")
	p.m.addTask(name)
	if ip := actorIP.FindStringSubmatch(in); ip != nil && p.m.Host == "" {
		p.m.Host = ip[1]
	}
	if r := actorRank.FindStringSubmatch(in); r != nil {
		kind := RankGlobal
		if r[1] != "" {
			kind = RankLocal
		}
		p.m.setRank(kind, r[2])
	} else {
		p.m.rankOfParallel(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ' ' }))
	}
	p.advance(end + 1)
	if m := repeatedAcross.FindStringSubmatch(p.rest); m != nil {
		n, _ := strconv.Atoi(m[1])
		p.rest = strings.TrimSuffix(p.rest, m[0])
		p.m.Repeat = max(p.m.Repeat, n)
	}
	return true
}

// actorForm reports whether the inside of parentheses is made of a name and
// settings alone, as in "Name pid=1, ip=10.0.0.3", and not of a person's words.
func actorForm(in string) bool {
	in, _, _ = strings.Cut(in, ", node=")
	bare := 0
	for w := range strings.FieldsSeq(in) {
		if strings.IndexByte(w, '=') <= 0 {
			bare++
		}
	}
	return bare <= 2
}

// closeParen is the place of the parenthesis that closes the first one.
func closeParen(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
