package main

import (
	"context"
	"errors"
	"os"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// record keeps the tests that came to their end in the history of their cards, where a
// daemon keeps one: the calendar then knows that they were done.
func (s *session) record(ctx context.Context) error {
	if s.f.store == "" {
		return nil
	}
	st, err := store.Open(ctx, s.f.store, store.Options{})
	if errors.Is(err, store.ErrMissing) {
		return nil // this node keeps no history
	}
	if err != nil {
		return err
	}
	defer st.Close()
	cards, err := st.Cards(ctx)
	if err != nil {
		return err
	}
	_, err = st.Do(ctx, s.begun, nil, func(step *incident.Step) error {
		for _, o := range s.out {
			result, _ := o.Result()
			if result != burn.Pass && result != burn.Fail {
				continue
			}
			g := gpumedic.GPU{PCI: o.GPU.PCI, UUID: o.GPU.UUID, Serial: o.Watch.Before["serial"]}
			detail := map[string]any{}
			if o.Memory != nil {
				detail["mode"] = o.Memory.Mode
			}
			step.Test(nodeOf(cards, g), g, o.Test, result, "", detail)
		}
		return nil
	})
	return err
}

// nodeOf is the name that the daemon gives to the node of a card.
func nodeOf(cards []incident.Card, g gpumedic.GPU) string {
	for _, c := range cards {
		if c.Present && incident.SameGPU(c.GPU, g) {
			return c.Node
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
