package incident

import (
	"cmp"
	"slices"

	"github.com/gpumedic/gpumedic"
)

// Card is a GPU as the node's inventory has it.
type Card struct {
	GPU     gpumedic.GPU `json:"gpu"` // PCI is the slot
	Node    string       `json:"node"`
	Name    string       `json:"name,omitempty"`
	Driver  string       `json:"driver,omitempty"`
	VBIOS   string       `json:"vbios,omitempty"`
	Present bool         `json:"present"`
}

// sameCard compares what stays with a card; a slot tells nothing.
func sameCard(a, b gpumedic.GPU) bool {
	a.PCI, b.PCI = "", ""
	a.Index, b.Index, a.Minor, b.Minor = nil, nil, nil, nil
	return SameGPU(a, b)
}

// nameCard adds the names of the card in a slot: a kernel line knows the slot alone. A
// card that is gone answers for its slot until another is there.
func (b *Book) nameCard(node string, g *gpumedic.GPU) {
	if g.PCI == "" || g.UUID != "" || g.Serial != "" {
		return
	}
	var gone *Card
	for n := range b.Cards {
		c := &b.Cards[n]
		switch {
		case c.Node != node || c.GPU.PCI != g.PCI:
		case c.Present:
			g.UUID, g.Serial = c.GPU.UUID, c.GPU.Serial
			return
		default:
			gone = c
		}
	}
	if gone != nil {
		g.UUID, g.Serial = gone.GPU.UUID, gone.GPU.Serial
	}
}

// Inventory takes the list of cards of a node. Complete says that it holds all of them:
// only then a missing one is gone.
func (s *Step) Inventory(node string, list []Card, complete bool) {
	cards := slices.Clone(s.book.Cards)
	seen := make([]bool, len(cards))
	changed := false
	driver := ""
	for _, c := range list {
		c.Node, c.Present = node, true
		if c.GPU.UUID == "" && c.GPU.Serial == "" {
			continue // a slot without an identity has no history of its own
		}
		n := slices.IndexFunc(cards, func(o Card) bool { return o.Node == node && sameCard(o.GPU, c.GPU) })
		if n < 0 {
			cards, seen = append(cards, c), append(seen, true)
			s.card(c, KindInserted, say("first seen: %s", "首次出现：%s", c.Name), nil)
			changed = true
			continue
		}
		seen[n] = true
		if old := cards[n]; s.compareCard(old, &c) {
			changed = true
			if old.Driver != c.Driver && old.Driver != "" && c.Driver != "" {
				driver = old.Driver + " → " + c.Driver
			}
		}
		cards[n] = c
	}
	for n := range seen {
		if complete && !seen[n] && cards[n].Present && cards[n].Node == node {
			cards[n].Present = false
			s.card(cards[n], KindRemoved, say("not seen any more", "已不可见"), nil)
			changed = true
		}
	}
	if driver != "" {
		s.driverChanged(node, driver)
	}
	if changed {
		s.book.Cards = cards
		s.CardsSeen = true
	}
}

// compareCard records how a card differs from when it was last seen; what this reading
// lacks is kept.
func (s *Step) compareCard(old Card, c *Card) (changed bool) {
	g := old.GPU
	fillGPU(&g, c.GPU)
	g.Index, g.Minor = c.GPU.Index, c.GPU.Minor
	c.GPU = g
	if c.Name == "" {
		c.Name = old.Name
	}
	for _, p := range [][2]*string{{&c.Driver, &old.Driver}, {&c.VBIOS, &old.VBIOS}} {
		if *p[0] == "" {
			*p[0] = *p[1]
		}
	}
	differs := func(kind, from, to string) {
		s.card(*c, kind, plain(from+" → "+to), fromTo(from, to))
		changed = true
	}
	if !old.Present {
		s.card(*c, KindInserted, say("seen again", "重新出现"), nil)
		changed = true
	}
	if old.GPU.PCI != c.GPU.PCI && old.GPU.PCI != "" {
		differs(KindMoved, old.GPU.PCI, c.GPU.PCI)
	}
	if old.Driver != c.Driver && old.Driver != "" {
		differs(KindDriver, old.Driver, c.Driver)
	}
	if old.VBIOS != c.VBIOS && old.VBIOS != "" {
		differs(KindFirmware, old.VBIOS, c.VBIOS)
	}
	return changed || old.Driver != c.Driver || old.VBIOS != c.VBIOS
}

func (s *Step) card(c Card, kind string, why text, detail map[string]any) {
	s.History = append(s.History, HistoryRow{At: s.now, Node: c.Node, GPU: c.GPU, Kind: kind, Text: why.en, TextZH: why.zh, Detail: detail})
	if kind == KindMoved || kind == KindRemoved || kind == KindInserted {
		told := say("GPU %s %s: %s", "GPU %s %s：%s", c.GPU, cmp.Or(c.GPU.Serial, c.GPU.UUID), why)
		s.Changes = append(s.Changes, Change{At: s.now, Kind: kind, Who: Self, Why: told.en, WhyZH: told.zh})
		for _, id := range s.ids() {
			if i := s.book.Incidents[id]; i.Live() && i.Subject.Node == c.Node && sameCard(i.Subject.GPU, c.GPU) {
				if kind == KindMoved {
					s.edit(id).Subject.GPU.PCI = c.GPU.PCI // where commands find it now
				}
				s.confound(id, say("the card was %s: %s", "该卡%s：%s", text{kind, cardZH[kind]}, why))
			}
		}
	}
}

var cardZH = map[string]string{KindInserted: "插入", KindMoved: "换了槽位", KindRemoved: "被移除"}

func (s *Step) driverChanged(node, what string) {
	for _, id := range s.ids() {
		if i := s.book.Incidents[id]; i.Live() && i.Subject.Node == node {
			s.confound(id, say("the driver was changed: %s", "驱动已变更：%s", what))
		}
	}
}

// Test records the result of an active test of a card: memtest, stress, bandwidth.
func (s *Step) Test(node string, g gpumedic.GPU, name, result, note string, detail map[string]any) {
	d := map[string]any{"test": name, "result": result}
	for k, v := range detail {
		d[k] = v
	}
	s.History = append(s.History, HistoryRow{At: s.now, Node: node, GPU: g, Kind: KindTest, Text: cmp.Or(note, name+": "+result), Detail: d})
}
