package traceback

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// stepping is what the progress of the work itself looks like.
const stepping = `(?i:\b(?:epoch|step|iter(?:ation)?|global_step)\b[ :=\[/]{1,3}\d)|(?i:\bloss\b[ '":=]{1,4}[\d.])|\d ?(?:it/s|s/it|tokens?/s|samples/s)|\d{1,3}%\|`

var (
	progress = lazyre.New(stepping)
	working  = lazyre.New(`\b(?:INFO|DEBUG)\b|` + stepping + `|"(?:GET|POST|PUT) /|^\[GIN\] `)
	chatter  = lazyre.New(`\b(?:INFO|DEBUG)\b`)
	ending   = lazyre.New(`(?i)shut|exit|terminat|clean|clos|kill|abort|stop|finish|destroy|fail|error|dead|died|dump|wandb|sigterm|signal|teardown|cancel|disconnect|elastic|agent|\bNCCL INFO\b|exception|traceback|warn`)
	done     = lazyre.New(`(?i)\btrain_runtime\b|\bdone training\b|\btraining (?:is )?(?:done|complete[d]?|finished)\b|\bfinished training\b|` + "`Trainer.fit` stopped")
	ended    = lazyre.New(`ChildFailedError|\(exitcode: |Root Cause \(first|^srun: error|core dumped|^Killed\b|[Ee]xited with (?:exit )?code|died with <Signals|Fatal Python error`)
)

// sign is what a line behind an exception says of its program.
type sign uint8

const (
	signNone sign = iota
	signLife
	signDone // it reports that its work is done
	signEnd
)

// lifeSigns is how many lines of progress show that a program lives.
const lifeSigns = 2

// signOf reads a line: a program that reports progress lives, one whose launcher
// counts the dead does not.
func signOf(text string) sign {
	text = text[:min(len(text), 400)]
	switch {
	case ended.MatchString(text):
		return signEnd
	case done.MatchString(text):
		return signDone
	case working.MatchString(text) && !ending.MatchString(text):
		return signLife
	}
	return signNone
}

// withoutDigits makes texts equal that differ in numbers alone.
func withoutDigits(s string) string {
	s = s[:min(len(s), 300)]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if isDigit(s[i]) {
			if i == 0 || !isDigit(s[i-1]) {
				b.WriteByte('0')
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
