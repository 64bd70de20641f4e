package frame

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// replica are containers that are workers of one job, numbered from 0.
var replica = lazyre.New(`(?i)(?:^|[-_])(?:worker|rank|trainer)[-_]\d{1,5}$`)

// podPrefix peels "[pod/NAME/CONTAINER] " of kubectl logs --prefix.
func (p *peeler) podPrefix() bool {
	rest, ok := strings.CutPrefix(p.rest, "[pod/")
	if !ok {
		return false
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 || end > 400 || strings.IndexByte(rest[:end], ' ') >= 0 {
		return false
	}
	pod, container, _ := strings.Cut(rest[:end], "/")
	p.m.Pod, p.m.Container = pod, container
	p.advance(len("[pod/") + end + 1)
	return true
}

// streamTag peels "stderr F " of the container runtime interface. What follows is
// the container's own output, which may have any framing of its own.
func (p *peeler) streamTag() bool {
	rest, ok := strings.CutPrefix(p.rest, "std")
	if !ok {
		return false
	}
	if !strings.HasPrefix(rest, "out ") && !strings.HasPrefix(rest, "err ") {
		return false
	}
	rest = rest[4:]
	tag, _, _ := strings.Cut(rest, " ")
	if tag == "" || tag[0] != 'F' && tag[0] != 'P' || len(tag) > 1 && tag[1] != ':' {
		return false
	}
	p.partial = tag[0] == 'P'
	p.pinned = p.m.Stamp.Known()
	p.advance(min(7+len(tag)+1, len(p.rest)))
	p.at = outer
	return true
}

// compose peels "worker-3  | " of docker compose. Only names with a replica number
// count here, since tables have bars too; label handles the rest.
func (p *peeler) compose() bool {
	s := p.rest
	n := 0
	for n < len(s) && n < 64 && (isAlnum(s[n]) || s[n] == '-' || s[n] == '_' || s[n] == '.') {
		n++
	}
	d := n
	for d > 0 && isDigit(s[d-1]) {
		d--
	}
	if d == n || d < 2 || s[d-1] != '-' && s[d-1] != '_' {
		return false
	}
	k := spaces(s[n:])
	if k == 0 || n+k >= len(s) || s[n+k] != '|' || n+k+1 < len(s) && s[n+k+1] != ' ' {
		return false
	}
	p.m.Container = s[:n]
	if replica.MatchString(s[:n]) {
		p.m.setRank(RankTask, s[d:n])
	}
	p.advance(n + k + 1)
	return true
}

// auditRecord recognises "type=EXECVE msg=audit(1718871000.101:9): " of auditd's own
// log. It quotes commands, so all of it is the text of the service "audit".
func (p *peeler) auditRecord() bool {
	if !strings.HasPrefix(p.rest, "type=") {
		return false
	}
	if st, ok := auditTime(p.rest[:min(len(p.rest), 120)]); ok {
		if !p.m.Stamp.Known() {
			p.setStamp(st)
		}
		p.becomeService("audit", 0)
		return true
	}
	return false
}
