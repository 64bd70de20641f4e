package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/layout"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// History is what happened to a card or in a slot.
type History struct {
	Schema string                `json:"schema"`
	Name   string                `json:"name"`
	Cards  []incident.Card       `json:"cards"` // those that the rows are about, as they are now
	Rows   []incident.HistoryRow `json:"rows"`
}

// WriteHistory writes it, oldest first.
func WriteHistory(w io.Writer, h *History, o Options) error {
	h.Schema = "gpumedic.history/v1"
	if o.Format == "json" {
		return gpumedic.WriteJSON(w, h)
	}
	p := newPrinter(w, o)
	for _, c := range h.Cards {
		p.card(c)
	}
	if len(h.Cards) > 0 {
		fmt.Fprintln(p)
	}
	slot, card := "", ""
	for _, r := range h.Rows {
		if len(h.Cards) != 1 && r.GPU.Serial != card && r.GPU.Serial != "" { // a slot that held several cards
			card = r.GPU.Serial
			fmt.Fprintf(p, "%s %s\n", p.pick("serial", "序列号"), layout.Printable(card))
		}
		note := p.reason(r.Kind, p.pick(r.Text, cmp.Or(r.TextZH, r.Text)), r.Detail)
		text := note
		if r.Incident != 0 {
			text = fmt.Sprintf(p.pick("incident %d", "事件 %d"), r.Incident) + " · " + r.Fault
			if note != "" {
				text += p.pick(": ", "：") + note
			}
		}
		if r.GPU.PCI != slot && r.GPU.PCI != "" {
			slot = r.GPU.PCI
			text += p.pick(" · slot ", " · 槽位 ") + slot
		}
		p.hang("  "+p.time(r.At)+"  "+layout.Pad(p.Kind(r.Kind), 14), text)
	}
	return p.Flush()
}

func (p *printer) card(c incident.Card) {
	where := p.pick("slot ", "槽位 ") + c.GPU.PCI
	if !c.Present {
		where = p.pick("not in this node now, last in slot ", "目前不在本节点，上次位于槽位 ") + c.GPU.PCI
	}
	p.dots("", append([]string{cmp.Or(c.Name, "GPU")}, p.names(c.GPU)...))
	p.hang("", where)
	if c.Driver != "" {
		p.hang("", p.pick("driver ", "驱动 ")+c.Driver+vbios(c))
	}
}

func vbios(c incident.Card) string {
	if c.VBIOS == "" {
		return ""
	}
	return " · VBIOS " + c.VBIOS
}

// WriteCards lists the cards that have a history.
func WriteCards(w io.Writer, cards []incident.Card, o Options) error {
	if o.Format == "json" {
		return gpumedic.WriteJSON(w, map[string]any{"schema": "gpumedic.cards/v1", "cards": cards})
	}
	p := newPrinter(w, o)
	if len(cards) == 0 {
		fmt.Fprintln(p, p.pick("no card was seen yet", "尚未见过任何卡"))
	}
	for _, c := range cards {
		p.card(c)
	}
	return p.Flush()
}
