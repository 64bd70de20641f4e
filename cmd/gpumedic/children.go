package main

import (
	"maps"

	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/child"
)

// childTasks are what this program runs in a process of its own, since a driver call in
// it may never return.
var childTasks = func() map[string]child.Task {
	all := map[string]child.Task{}
	maps.Copy(all, burn.Tasks())
	return all
}()
