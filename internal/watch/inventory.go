package watch

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
)

// takeInventory tells the store which cards are there, when that has changed.
func (l *loop) takeInventory(ctx context.Context, now time.Time) {
	list, complete := l.core.readings.cards()
	if len(list) == 0 {
		return
	}
	text, err := json.Marshal(list)
	if err != nil || string(text) == l.inventory {
		return
	}
	r, err := l.store.Do(ctx, now, nil, func(s *incident.Step) error {
		s.Inventory(l.conf.Node, list, complete)
		return nil
	})
	l.stored(err)
	if err == nil {
		l.inventory = string(text)
		if len(r.Changes) > 0 {
			l.told(r)
		}
	}
}

// cards are the GPUs that the driver names; complete says that none is missing.
func (r *readings) cards() (list []incident.Card, complete bool) {
	counted, driver := -1, ""
	sets := r.of(sourceGPUs)
	for i := range sets {
		if s := &sets[i]; s.Subject.GPU.IsZero() && s.Subject.Process.PID == 0 {
			if n, err := strconv.Atoi(s.Values["attached_gpus"].Value); err == nil {
				counted = n
			}
			if v := s.Values["driver.version"].Value; v != "" && v != "N/A" {
				driver = v
			}
		}
	}
	for i := range sets {
		s := &sets[i]
		if s.Subject.GPU.IsZero() || s.Subject.Process.PID != 0 || s.Values["mig.uuid"].Value != "" {
			continue
		}
		v := func(key string) string {
			if x := s.Values[key].Value; x != "N/A" {
				return x
			}
			return ""
		}
		c := incident.Card{GPU: s.Subject.GPU, Name: v("name"), Driver: driver, VBIOS: v("vbios.version")}
		if c.GPU.UUID == "" {
			c.GPU.UUID = v("uuid")
		}
		if c.GPU.Serial == "" {
			c.GPU.Serial = v("serial")
		}
		if c.GPU.UUID != "" || c.GPU.Serial != "" {
			list = append(list, c)
		}
	}
	return list, counted >= 0 && counted == len(list)
}
