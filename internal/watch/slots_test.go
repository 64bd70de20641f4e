package watch

import (
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/incident/store"
)

const uncontained = "NVRM: Xid (PCI:0000:3a:00): 95, pid=8841, name=python, Uncontained: LTC DATA (0x1, 0x3). RST: Yes, D-RST: No"

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
		if list := r.incidents(); len(list) != 1 || !list[0].Live() || list[0].Subject.GPU.Serial != "1650000000003" {
			t.Errorf("after the exchange (daemon stopped: %v):\n%s", stopped, incidentText(list))
		}
		r.kernel(uncontained)
		r.until("the new card's own incident", func() bool {
			for _, i := range r.incidents() {
				if i.Subject.GPU.Serial == "1659999999999" {
					return i.Count == 1
				}
			}
			return false
		})
		if list := r.incidents(); len(list) != 2 || list[0].Count+list[1].Count != 2 {
			t.Errorf("after the new card's line:\n%s", incidentText(list))
		}
		r.end()
	}
}
