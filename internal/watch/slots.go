package watch

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/follow"
	"github.com/gpumedic/gpumedic/internal/incident"
)

// slot is the card that a PCI address had when it was read last.
type slot struct {
	UUID   string    `json:"uuid,omitempty"`
	Serial string    `json:"serial,omitempty"`
	Seen   time.Time `json:"seen"`
}

// exchanged reports whether another card is there now: one that shares no name with it.
func (s slot) exchanged(c *incident.Card) bool {
	for _, p := range [][2]string{{s.UUID, c.GPU.UUID}, {s.Serial, c.GPU.Serial}} {
		if p[0] != "" && p[1] != "" {
			return !strings.EqualFold(p[0], p[1])
		}
	}
	return false
}

// place takes what the driver says of the cards. A kernel line knows a GPU by its slot
// alone, so that those about a card which was taken out would be held against the one
// that is in its place now: they go with the card. What came after this boot began and
// after the card was seen last may be of either and stays.
func (w *window) place(list []incident.Card, now, boot time.Time) (exchanged []incident.Card) {
	for _, c := range list {
		pci := c.GPU.PCI
		if pci == "" {
			continue
		}
		old, known := w.slots[pci]
		if known && old.exchanged(&c) {
			exchanged = append(exchanged, c)
			end := old.Seen
			if boot.After(end) {
				end = boot
			}
			for _, key := range slices.Sorted(maps.Keys(w.events)) {
				if s := w.events[key]; s.Subject.GPU.PCI == pci && s.Last.Dated() && !s.Last.Time.After(end) {
					w.drop(key)
				}
			}
			old = slot{}
		}
		w.slots[pci] = slot{cmp.Or(c.GPU.UUID, old.UUID), cmp.Or(c.GPU.Serial, old.Serial), now}
	}
	return exchanged
}

// place notices cards that were exchanged.
func (l *loop) place(now time.Time) {
	list, _ := l.core.readings.cards()
	for _, c := range l.core.window.place(list, now, follow.Booted(now)) {
		l.log.Info("another card is in this slot; events of the one before no longer count", "pci", c.GPU.PCI, "serial", c.GPU.Serial, "uuid", c.GPU.UUID)
		l.expired = time.Time{} // the inventory is due
	}
}
