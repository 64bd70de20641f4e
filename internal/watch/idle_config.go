package watch

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic/internal/act/notify"
)

// Maintenance is what the daemon may do of the calendar by itself.
type Maintenance struct {
	MemoryTest MemoryTest `yaml:"memory_test"`
}

// MemoryTest is the monthly memory test of GPUs that nobody uses.
type MemoryTest struct {
	Enabled  bool          `yaml:"enabled"`
	From     string        `yaml:"from"` // time of day
	To       string        `yaml:"to"`
	Days     []string      `yaml:"days,omitempty"` // on which the window begins; none: all
	Zone     string        `yaml:"zone,omitempty"` // none: the machine's
	IdleFor  time.Duration `yaml:"idle_for"`       // nobody was on the GPU for so long
	Full     bool          `yaml:"full"`           // all patterns; else the quick test
	Soak     time.Duration `yaml:"soak"`           // go on for so long; 0: one round
	Deadline time.Duration `yaml:"deadline"`       // of one GPU
}

// open is when the window that now lies in ends; zero when it lies in none.
func (m *MemoryTest) open(now time.Time) (time.Time, error) {
	q := notify.Quiet{From: m.From, To: m.To, Days: m.Days, Zone: m.Zone}
	return q.Until(now)
}

func (m *MemoryTest) problem() error {
	if _, err := m.open(time.Now()); err != nil {
		return err
	}
	switch {
	case m.IdleFor < time.Minute:
		return fmt.Errorf("idle_for: %s is less than 1m", m.IdleFor)
	case m.Deadline < time.Minute:
		return fmt.Errorf("deadline: %s is less than 1m", m.Deadline)
	case m.Soak < 0 || m.Soak > 0 && m.Soak >= m.Deadline:
		return fmt.Errorf("soak: %s does not end before the deadline of %s", m.Soak, m.Deadline)
	case m.Full && m.Soak > 0:
		return errors.New("full and soak exclude each other")
	}
	return nil
}

func (m *MemoryTest) mode() string {
	switch {
	case m.Soak > 0:
		return "soak " + m.Soak.String()
	case m.Full:
		return "full"
	}
	return "quick"
}

// args are the verb's arguments for one GPU.
func (m *MemoryTest) args(pci, archive string) []string {
	out := []string{"memtest", "--gpu", pci, "--report", archive, "--format", "json", "--quiet", "--store", ""}
	switch {
	case m.Soak > 0:
		return append(out, "--soak", m.Soak.String())
	case m.Full:
		return out
	}
	return append(out, "--quick")
}
