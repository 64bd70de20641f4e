package incident

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Results of a check. Unknown is not passed.
const (
	Passed  = "passed"
	Failed  = "failed"
	Unknown = "unknown"
)

// Verification is one run of the checks that the fault's catalog entry names.
type Verification struct {
	ID       int64         `json:"id,omitempty"`
	Incident int64         `json:"incident"`
	Attempt  int           `json:"attempt"`
	Started  time.Time     `json:"started"`
	At       time.Time     `json:"at"`
	Who      string        `json:"who"`
	Passed   bool          `json:"passed"`
	Checks   []CheckResult `json:"checks"`
	// Confounders are what else changed between the fault and this verification.
	Confounders []Confounder `json:"confounders,omitempty"`
}

// CheckResult is one check with the readings before and after the repair.
type CheckResult struct {
	Check   string            `json:"check"`
	Command string            `json:"command,omitempty"`
	Result  string            `json:"result"` // passed, failed, unknown
	Detail  string            `json:"detail,omitempty"`
	Before  map[string]string `json:"before,omitempty"`
	After   map[string]string `json:"after,omitempty"`
}

func (s *Step) live(id int64) (*Incident, error) {
	i := s.book.Incidents[id]
	if i == nil {
		return nil, fmt.Errorf("find incident %d: %w", id, ErrNotFound)
	}
	if !i.Live() {
		return nil, fmt.Errorf("change incident %d: %w: it is closed", id, ErrState)
	}
	return s.edit(id), nil
}

// Ack says that a person has seen it.
func (s *Step) Ack(id int64, who, why string) error {
	i, err := s.live(id)
	if err != nil {
		return err
	}
	if i.State != Open {
		return fmt.Errorf("acknowledge incident %d: %w: it is %s", id, ErrState, i.State)
	}
	s.show(i)
	s.event(i, KindAcknowledged, Acknowledged, who, plain(why), nil)
	return nil
}

// show: whatever a person handles is visible.
func (s *Step) show(i *Incident) {
	if !i.Visible {
		i.Visible, i.Shown = true, s.now
	}
}

// Act begins a repair.
func (s *Step) Act(id int64, action, who, why string) error {
	i, err := s.live(id)
	if err != nil {
		return err
	}
	if i.State == Acting {
		return fmt.Errorf("act on incident %d: %w: a repair is going on", id, ErrState)
	}
	s.show(i)
	s.event(i, KindActing, Acting, who, plain(why), map[string]any{"action": action})
	return nil
}

// Acted ends a repair. A repair gives a new set of verification attempts.
func (s *Step) Acted(id int64, ok bool, who, why string) error {
	i, err := s.live(id)
	if err != nil {
		return err
	}
	if i.State != Acting {
		return fmt.Errorf("end repair of incident %d: %w: it is %s", id, ErrState, i.State)
	}
	if !ok {
		s.event(i, KindActFailed, Open, who, plain(why), nil)
		return nil
	}
	i.Acted, i.Verified, i.Attempts = s.now, time.Time{}, 0
	s.event(i, KindActed, Verifying, who, plain(why), nil)
	return nil
}

// Verify records a verification. Whether it passed follows from its checks.
func (s *Step) Verify(id int64, v Verification, who string) error {
	i, err := s.live(id)
	if err != nil {
		return err
	}
	if i.State == Acting {
		return fmt.Errorf("verify incident %d: %w: a repair is going on", id, ErrState)
	}
	if s.Policy.MaxAttempts > 0 && i.Attempts >= s.Policy.MaxAttempts {
		return fmt.Errorf("verify incident %d: %w (%d)", id, ErrAttempts, i.Attempts)
	}
	s.show(i)
	s.verify(i, v, who)
	return nil
}

func (s *Step) verify(i *Incident, v Verification, who string) {
	i.Attempts++
	v.Incident, v.Attempt, v.Who, v.At = i.ID, i.Attempts, who, s.now
	if v.Started.IsZero() {
		v.Started = s.now
	}
	v.Passed = len(v.Checks) > 0
	var wrong []string
	for _, c := range v.Checks {
		if c.Result != Passed {
			v.Passed = false
			wrong = append(wrong, c.Check)
		}
	}
	v.Confounders = slices.Clone(i.Confounders)
	s.Checks = append(s.Checks, v)
	detail := map[string]any{"attempt": v.Attempt, "checks": len(v.Checks)}
	if len(v.Confounders) > 0 {
		detail["confounders"] = v.Confounders
	}
	if v.Passed {
		i.Verified = s.now
		s.event(i, KindVerified, Verifying, who, say("checks passed: %d", "%d 项检查通过", len(v.Checks)), detail)
		return
	}
	i.Verified = time.Time{}
	why := say("no check was run", "没有执行任何检查")
	if len(wrong) > 0 {
		why = say("not passed: %s", "未通过：%s", strings.Join(wrong, "; "))
	}
	s.event(i, KindVerifyFailed, Open, who, why, detail)
	// A check that could not be read says nothing against the repair.
	if failed := func(c CheckResult) bool { return c.Result == Failed }; !i.Acted.IsZero() && slices.ContainsFunc(v.Checks, failed) {
		s.escalate(i, i.Level+1)
	}
}

// Close ends an incident that is verified; force ends any, with a reason.
func (s *Step) Close(id int64, force bool, who, why string) error {
	i, err := s.live(id)
	if err != nil {
		return err
	}
	if force && strings.TrimSpace(why) == "" {
		return fmt.Errorf("close incident %d by force: %w", id, ErrNoReason)
	}
	if !force && (i.Verified.IsZero() || i.Transient && i.Present) {
		return fmt.Errorf("close incident %d: %w", id, ErrNotVerified)
	}
	s.show(i)
	i.Forced = force && i.Verified.IsZero()
	i.Closed = s.now
	detail := map[string]any{"forced": i.Forced}
	s.event(i, KindClosed, Closed, who, plain(why), detail)
	return nil
}

// Reopen takes a closed incident up again.
func (s *Step) Reopen(id int64, who, why string) error {
	i := s.book.Incidents[id]
	if i == nil {
		return fmt.Errorf("find incident %d: %w", id, ErrNotFound)
	}
	if i.Live() {
		return fmt.Errorf("reopen incident %d: %w: it is %s", id, ErrState, i.State)
	}
	i = s.edit(id)
	i.Closed, i.Verified, i.Forced, i.MergedInto = time.Time{}, time.Time{}, false, 0
	i.Attempts, i.Active = 0, s.now
	i.Reopens++
	s.show(i)
	s.event(i, KindReopened, Open, who, plain(why), nil)
	return nil
}
