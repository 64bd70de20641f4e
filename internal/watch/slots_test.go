package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

const uncontained = "NVRM: Xid (PCI:0000:3a:00): 95, pid=8841, name=python, Uncontained: LTC DATA (0x1, 0x3). RST: Yes, D-RST: No"

// uncontainedOnes leaves out what a slow machine makes of the fake driver.
func uncontainedOnes(r *running) []*incident.Incident {
	return slices.DeleteFunc(r.incidents(), func(i *incident.Incident) bool { return i.Fault != "ecc-uncorrectable-uncontained" })
}

// exchange puts another card into the slot of GPU 3.
const exchange = "gpu.3.uuid=GPU-0badcafe-2222-4a4a-9c9c-0a0b0c0d0e0f\ngpu.3.serial=1659999999999\n"

// TestExchangedCard: the lines about a card that was taken out are not held against the
// one in its place, exchanged while the daemon runs or while it does not; what the new one
// does itself is.
func TestExchangedCard(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		play := useFake(t, "gpu.3.serial=1650000000003\n")
		r := begin(t, t.TempDir(), quick)
		known := func(serial string) func() bool {
			return func() bool {
				s, err := store.Open(t.Context(), r.conf.Store, store.Options{ReadOnly: true})
				if err != nil {
					return false
				}
				defer s.Close()
				cards, err := s.Cards(t.Context())
				for _, c := range cards {
					if c.GPU.Serial == serial && c.Present {
						return true
					}
				}
				return err != nil
			}
		}
		r.until("the GPUs", func() bool { return strings.Contains(r.get("/metrics"), `gpumedic_gpu_temperature_celsius{gpu="7"`) })
		r.kernel(uncontained)
		r.until("the incident", func() bool {
			i := r.find("ecc-uncorrectable-uncontained")
			return i != nil && i.Subject.GPU.Serial == "1650000000003"
		})
		// What comes after a card was seen last may be of the next one: it is seen once more.
		seen := r.source(sourceGPUs).Answers
		r.until("more readings", func() bool { return r.source(sourceGPUs).Answers > seen+10 })
		if stopped {
			r.end()
		}
		play(exchange)
		if stopped {
			r.start()
		}
		r.until("the new card", known("1659999999999"))
		if list := uncontainedOnes(r); len(list) != 1 || !list[0].Live() || list[0].Subject.GPU.Serial != "1650000000003" {
			t.Errorf("after the exchange (daemon stopped: %v):\n%s", stopped, incidentText(list))
		}
		r.kernel(uncontained)
		r.until("the new card's own incident", func() bool {
			for _, i := range uncontainedOnes(r) {
				if i.Subject.GPU.Serial == "1659999999999" {
					return i.Count == 1
				}
			}
			return false
		})
		if list := uncontainedOnes(r); len(list) != 2 || list[0].Count+list[1].Count != 2 {
			t.Errorf("after the new card's line:\n%s", incidentText(list))
		}
		r.end()
	}
}

// TestPlace: which lines go with a card. After a power cycle all of the boot before do,
// whenever the card was last seen by a daemon; within one boot those up to then.
func TestPlace(t *testing.T) {
	t0 := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	old := incident.Card{GPU: gpumedic.GPU{PCI: "0000:3a:00.0", UUID: "GPU-a", Serial: "1"}}
	other := incident.Card{GPU: gpumedic.GPU{PCI: "0000:3a:00.0", UUID: "GPU-b", Serial: "2"}}
	nameless := incident.Card{GPU: gpumedic.GPU{PCI: "0000:3a:00.0"}}
	for name, c := range map[string]struct {
		boot  time.Duration // to the time at which the old card was seen
		at    time.Duration // of the line
		pci   string
		now   incident.Card
		stays bool
	}{
		"before it was seen last":        {-time.Hour, -time.Minute, "0000:3a:00.0", other, false},
		"after it was seen last":         {-time.Hour, time.Minute, "0000:3a:00.0", other, true},
		"after, and then a power cycle":  {2 * time.Minute, time.Minute, "0000:3a:00.0", other, false},
		"since the power cycle":          {2 * time.Minute, 3 * time.Minute, "0000:3a:00.0", other, true},
		"another slot":                   {-time.Hour, -time.Minute, "0000:5d:00.0", other, true},
		"the same card":                  {-time.Hour, -time.Minute, "0000:3a:00.0", old, true},
		"a card that does not say which": {-time.Hour, -time.Minute, "0000:3a:00.0", nameless, true},
	} {
		w := newWindow(24 * time.Hour)
		w.place([]incident.Card{old}, t0, t0.Add(-24*time.Hour))
		s := gpumedic.Signal{Kind: "xid.95", Subject: gpumedic.Subject{GPU: gpumedic.GPU{PCI: c.pci}}}
		s.First = gpumedic.Stamp{Time: t0.Add(c.at), Precision: time.Second}
		s.Last = s.First
		w.add(s)
		text := w.save("r", nil) // and over a restart
		w = newWindow(24 * time.Hour)
		if _, _, ok := w.restore(text); !ok {
			t.Fatal("not restored")
		}
		exchanged := w.place([]incident.Card{c.now}, t0.Add(5*time.Minute), t0.Add(c.boot))
		if got := len(w.events) == 1; got != c.stays || len(exchanged) > 0 != (c.now.GPU.UUID == "GPU-b") {
			t.Errorf("%s: the line stays: %v, want %v; exchanged %v", name, got, c.stays, exchanged)
		}
	}
}
