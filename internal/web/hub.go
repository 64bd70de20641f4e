package web

import (
	"sync"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/report"
)

// Update is news for those who watch the page. One of its parts is set.
type Update struct {
	Change  *incident.Change // an incident or the inventory changed
	GPUs    *GPUs            // new readings
	Sources []Source         // the state of a source changed: all of them as they are now
}

// Hub hands updates to those who watch. Publish never waits: who reads too slowly is cut
// off and comes back by itself.
type Hub struct {
	mu   sync.Mutex
	subs map[chan Update]struct{}
}

// maxWatchers bounds open streams; waiting is how many updates one may lag behind.
const (
	maxWatchers = 64
	waiting     = 64
)

// NewHub makes one.
func NewHub() *Hub { return &Hub{subs: map[chan Update]struct{}{}} }

// Publish tells everyone who watches.
func (h *Hub) Publish(u Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.subs {
		select {
		case c <- u:
		default:
			delete(h.subs, c)
			close(c)
		}
	}
}

// Readings tells new readings.
func (h *Hub) Readings(at time.Time, gpus []report.GPU) {
	h.Publish(Update{GPUs: &GPUs{Schema: "gpumedic.gpus/v1", At: at, GPUs: gpus}})
}

// Watching is how many streams are open.
func (h *Hub) Watching() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

// subscribe gives a channel that is closed when its reader is too slow; false when
// there are too many already.
func (h *Hub) subscribe() (c chan Update, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subs) >= maxWatchers {
		return nil, false
	}
	c = make(chan Update, waiting)
	h.subs[c] = struct{}{}
	return c, true
}

func (h *Hub) unsubscribe(c chan Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.subs[c]; ok {
		delete(h.subs, c)
		close(c)
	}
}

// GPUs is the table of GPUs at a moment, as the API has it.
type GPUs struct {
	Schema string       `json:"schema"`
	At     time.Time    `json:"at,omitzero"` // when it was read
	GPUs   []report.GPU `json:"gpus"`
}
