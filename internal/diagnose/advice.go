package diagnose

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// causes lists the catalog's causes; those whose sign was seen come first, likely.
func (w *world) causes(h *hypothesis) []gpumedic.Cause {
	seen, rest := []gpumedic.Cause{}, []gpumedic.Cause{}
	for n, c := range h.rule.Causes {
		out := gpumedic.Cause{Cause: c.Cause.In(w.lang), Likelihood: c.Likelihood, Confirm: c.Confirm.In(w.lang)}
		if len(h.rule.causes[n]) > 0 && w.allSeen(h, h.rule.causes[n]) {
			out.Likelihood = "high"
			seen = append(seen, out)
			continue
		}
		rest = append(rest, out)
	}
	return append(seen, rest...)
}

func (w *world) notThis(h *hypothesis, vars map[string]string) []string {
	var out []string
	for n, t := range h.rule.NotThis {
		if when := h.rule.notThis[n]; len(when) > 0 && !w.allSeen(h, when) {
			continue
		}
		said := expand(t.Claim.In(w.lang)+text(w.lang, ": ", "：")+t.Because.In(w.lang), vars)
		if openVariable.MatchString(said) {
			continue // a number that this evidence does not give
		}
		out = append(out, said)
	}
	return out
}

func remedies(f *catalog.Fault, action, lang string, vars map[string]string) []gpumedic.Remedy {
	out := []gpumedic.Remedy{}
	for _, r := range f.Remedies {
		if r.For != "" && !slices.Contains(kinds(r.For), action) {
			continue
		}
		step, command := expand(r.Step.In(lang), vars), fillIn(r.Command, vars)
		if openVariable.MatchString(step) && !nameable.MatchString(step) {
			continue // a number that this evidence does not give
		}
		step = fillIn(step, vars)
		out = append(out, gpumedic.Remedy{Step: step, Command: command, Risk: r.Risk})
	}
	return out
}

// openVariable is a {field} that no evidence filled.
var openVariable = lazyre.New(`\{[a-z][a-z0-9_]*\}`)

// nameable are variables that a person can fill in without the evidence.
var nameable = lazyre.New(`\{(gpu|node|pid|process|port|unit|container|link|nvswitch)\}`)

// unfilled is a {name} that is no shell variable and not part of a Python f-string.
var unfilled = lazyre.New(`(^|[^$:])\{([a-z][a-z0-9_]*)\}`)

func checks(f *catalog.Fault, lang string, vars map[string]string) []gpumedic.Check {
	out := []gpumedic.Check{}
	for _, c := range f.Verify {
		out = append(out, gpumedic.Check{Check: fillIn(c.Check.In(lang), vars), Command: fillIn(c.Command, vars)})
	}
	return out
}

// vars are the variables of headline, remedies and checks; s is the subject.
func (w *world) vars(h *hypothesis, s gpumedic.Subject) map[string]string {
	v := map[string]string{}
	take := func(list []int) {
		for _, i := range list {
			for k, x := range w.signals[i].Fields {
				if _, ok := v[k]; !ok {
					v[k] = x
				}
			}
		}
	}
	take(h.triggers)
	for _, c := range h.supports { // after the triggers: what they leave open
		take(c.signals)
	}
	set := func(k, x string) {
		if x != "" {
			v[k] = x
		}
	}
	// Texts write "GPU {gpu}" and commands "-i {gpu}": an index goes without the word.
	set("gpu", strings.TrimPrefix(s.GPU.String(), "GPU "))
	set("node", s.Node)
	set("port", s.Port)
	set("nvswitch", s.NVSwitch)
	set("link", s.Link)
	set("process", s.Process.Name)
	set("unit", s.Unit)
	set("container", s.Container)
	if s.Process.PID != 0 {
		v["pid"] = strconv.Itoa(s.Process.PID)
	}
	v["count"] = strconv.Itoa(w.count(h))
	v["gpus"] = strconv.Itoa(len(h.merged) + 1)
	return v
}

// expand replaces {name} once: a value that holds braces itself stays as the log has it.
// A headline with a name left is not used; commands go through [fillIn].
func expand(s string, vars map[string]string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			break
		}
		b.WriteString(s[:open])
		s = s[open:]
		if end := strings.IndexByte(s, '}'); end > 0 {
			if v, ok := vars[s[1:end]]; ok {
				b.WriteString(v)
				s = s[end+1:]
				continue
			}
		}
		b.WriteByte('{')
		s = s[1:]
	}
	b.WriteString(s)
	return b.String()
}

// fillIn is expand for texts and commands: a variable that the input does not give
// becomes <name>, for a person to fill in. Other braces (shell, awk) stay.
func fillIn(s string, vars map[string]string) string {
	return unfilled.ReplaceAllString(expand(s, vars), "$1<$2>")
}
