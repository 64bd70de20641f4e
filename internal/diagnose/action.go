package diagnose

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

var noDuration catalog.Duration

// verdictAction is what the driver's own recovery verdict (Xid 154, NVML recovery
// action) asks for, as an action of the ladder.
var verdictAction = map[string]string{
	"reset":        "reset_gpu",
	"drain_reset":  "reset_gpu",
	"reboot":       "reboot_node",
	"recover_imex": "restart_service",
}

// action picks the first thing to do: the driver's own verdict, else the first rule
// of the fault that fits, else its default; then one step up when it recurs.
func (w *world) action(h *hypothesis, lost []loss) (action, why string) {
	action = h.rule.Action
	for n := range h.rule.actions {
		r := &h.rule.actions[n]
		if len(h.merged)+1 < r.MinSubjects || !w.allSeen(h, r.when) {
			continue
		}
		if a := w.expandAction(h, r); a != "" {
			action, why = a, r.Why.In(w.lang)
			break
		}
	}
	if a, s := w.driverVerdict(h); a != "" && h.rule.Layer != "software" && givesWay(action) {
		said := strings.ReplaceAll(s.Field("recovery"), "_", " ")
		return a, fmt.Sprintf(text(w.lang, "the driver's own verdict (%s) at %s:%d", "驱动自己的结论（%s），见 %s:%d"),
			said, s.Evidence.Input, s.Evidence.Line)
	}
	if action == "none" || action == "monitor" {
		for _, l := range lost {
			if l.h.rule.Persistent {
				return l.h.rule.Action, l.h.rule.Title.In(w.lang)
			}
		}
	}
	if up, times := w.recurrence(h, action); up != "" {
		return up, fmt.Sprintf(text(w.lang, "it happened %d times, minutes apart", "多次复发（%d 次，间隔数分钟以上）"), times)
	}
	return action, why
}

// givesWay: the driver's verdict does not undo hands-on steps that a reset cannot replace.
func givesWay(action string) bool {
	switch action {
	case "check_power_cooling", "reseat_or_check_pcie", "replace_gpu", "fix_config", "reinstall_driver":
		return false
	}
	return true
}

func (w *world) expandAction(h *hypothesis, r *actionRule) string {
	a := r.Action
	if strings.HasPrefix(a, "{") && strings.HasSuffix(a, "}") {
		for _, i := range h.triggers {
			if v := fieldOf(&w.signals[i], a[1:len(a)-1]); v != "" {
				return v
			}
		}
		return ""
	}
	return a
}

func (w *world) allSeen(h *hypothesis, when []clue) bool {
	for n := range when {
		if len(w.hits(h, &when[n])) == 0 {
			return false
		}
	}
	return true
}

// driverVerdict finds the last recovery verdict for the hypothesis's GPU.
func (w *world) driverVerdict(h *hypothesis) (string, *gpumedic.Signal) {
	var last *gpumedic.Signal
	lastN := -1
	for _, v := range w.verdict {
		i, s := v.i, &w.signals[v.i]
		if v.recovery == "" || h.at.gpu == "" || w.where[i].gpu != h.at.gpu ||
			!w.within(h, i, noDuration, noDuration, defaultSlack, time.Hour) {
			continue
		}
		if last == nil || w.before(lastN, i) {
			last, lastN = s, i
		}
	}
	if last == nil {
		return "", nil
	}
	return verdictAction[last.Field("recovery")], last
}

// recurrence looks for the same fault again after ten quiet minutes.
func (w *world) recurrence(h *hypothesis, action string) (string, int) {
	if h.rule.Scope != "gpu" || h.rule.Layer == "software" || catalog.Escalation[action] == "" {
		return "", 0
	}
	times := 1
	prev := h.triggers[0]
	for _, i := range h.triggers {
		s := &w.signals[i]
		if d, ok := s.First.Sub(w.signals[prev].First); ok && d > 10*time.Minute {
			times++
			prev = i
		}
	}
	if times < 2 {
		return "", 0
	}
	return catalog.Escalation[action], times
}
