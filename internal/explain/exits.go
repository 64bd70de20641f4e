package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	exitRE    = lazyre.New(`(?i)^(?:(?:exit(?:ed)?|exit ?code|exit ?status|return ?code|returncode|rc|code|status|退出码|返回码)[ :=#]*(?:with |code |status )?[:=]?)+\s*\(?(-?\d{1,3})\)?$`)
	negRE     = lazyre.New(`^-(\d{1,2})$`)
	signalRE  = lazyre.New(`(?i)^(?:killed by )?(?:sig(?:nal|num)?|信号)[ .:#=]*(\d{1,2})$`)
	sigNameRE = lazyre.New(`(?i)^(?:signal |killed by |killed by signal |信号 ?)?(SIG[A-Z0-9]{3,6})$`)
	slurmRE   = lazyre.New(`(?i)^(?:exit ?code[ :=]*|exit[ :=]*)?(\d{1,3}):(\d{1,3})$`)
)

// shellWords are what shells print of a process that a signal ended.
var shellWords = map[string]int{
	"segmentation fault": 11, "bus error": 7, "aborted": 6, "killed": 9, "terminated": 15, "illegal instruction": 4,
	"floating point exception": 8, "hangup": 1, "broken pipe": 13, "段错误": 11, "总线错误": 7, "已杀死": 9, "已放弃": 6, "已终止": 15,
}

// exit answers for exit codes (137, -9, Slurm's 0:9), signals and what shells say.
func (b *book) exit(q string) (Page, bool) {
	if m := exitRE.FindStringSubmatch(q); m != nil {
		return b.exitCode(number(m[1]))
	}
	if m := negRE.FindStringSubmatch(q); m != nil {
		return b.exitSignal(number(m[1]), -number(m[1]))
	}
	if m := signalRE.FindStringSubmatch(q); m != nil {
		return b.exitSignal(number(m[1]), 0)
	}
	if m := sigNameRE.FindStringSubmatch(q); m != nil {
		if e, ok := b.t.ExitName(m[1]); ok {
			return b.exitPage(e, 0), true
		}
	}
	if m := slurmRE.FindStringSubmatch(q); m != nil { // exit code:signal
		if n := number(m[2]); n > 0 {
			return b.exitSignal(n&127, 0)
		}
		return b.exitCode(number(m[1]))
	}
	word := strings.TrimSuffix(strings.ToLower(q), " (core dumped)")
	if n, ok := shellWords[word]; ok {
		return b.exitSignal(n, 0)
	}
	return Page{}, false
}

func (b *book) exitCode(n int) (Page, bool) {
	switch {
	case n < 0:
		return b.exitSignal(-n, n)
	case n > 128 && n <= 128+64:
		return b.exitSignal(n-128, n)
	case n > 255:
		return Page{}, false
	}
	if e, ok := b.t.ExitCode(n); ok {
		return b.exitPage(e, n), true
	}
	return b.unlisted("exit "+strconv.Itoa(n), "ownCode", n, 1), true
}

// exitSignal is the page of a signal; code is how the query gave it, 0 for by itself.
func (b *book) exitSignal(n, code int) (Page, bool) {
	if e, ok := b.t.ExitSignal(n); ok {
		return b.exitPage(e, code), true
	}
	if n < 1 || n > 64 {
		return Page{}, false
	}
	p := b.unlisted("signal "+strconv.Itoa(n), "rawSignal", n, 15)
	p.fact(b.say("shownAs"), shownAs(n))
	return p, true
}

// unlisted is the page of a number without a row; like lends it sources.
func (b *book) unlisted(key, label string, n, like int) Page {
	p := Page{Kind: KindExit, Key: key, Title: fmt.Sprintf(b.say(label), n), Meaning: b.say(label + "Text")}
	for _, e := range b.t.Exits() {
		if e.Number == like {
			p.Sources = addMissing(p.Sources, e.Sources...)
			break
		}
	}
	return p
}

func (b *book) exitPage(e *catalog.Exit, code int) Page {
	p := Page{Kind: KindExit, Name: e.Name, Meaning: b.in(e.Meaning), Action: e.Action, Check: b.in(e.Check), Sources: e.Sources}
	if e.Signal {
		p.Key = e.Name
		p.Title = e.Name + b.colon() + b.in(e.Short)
		if code != 0 {
			p.Title = fmt.Sprintf(b.say("exitCode"), code) + b.colon() + e.Name + b.paren(b.in(e.Short))
		}
		p.fact(b.say("number"), fmt.Sprintf(b.say("exitSignal"), e.Number))
		p.fact(b.say("shownAs"), shownAs(e.Number))
	} else {
		p.Key = "exit " + strconv.Itoa(e.Number)
		p.Title = fmt.Sprintf(b.say("exitCode"), e.Number) + b.colon() + b.in(e.Short)
	}
	if c := b.in(e.Causes); c != "" {
		p.Causes = []Cause{{Cause: c}}
	}
	for _, id := range e.Faults {
		p.Faults = append(p.Faults, Ref{Key: id, Title: b.titleOf(id), How: b.say("lookAt")})
	}
	b.myths(&p, p.Key)
	return p
}

// shownAs is how a signal looks in exit codes.
func shownAs(n int) string {
	return fmt.Sprintf("%d (shell, Docker, Kubernetes) · -%d (Python, torchrun) · 0:%d (Slurm)", 128+n, n, n)
}
