package main

import (
	"maps"

	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
	"github.com/gpumedic/gpumedic/internal/probe/sensors"
)

// childTasks are what this program runs in a process of its own, since a driver call in
// it may never return.
var childTasks = func() map[string]child.Task {
	all := burn.Tasks()
	maps.Copy(all, map[string]child.Task{gpu.TaskName: gpu.Task, gpu.FollowName: gpu.Follow, sensors.TaskName: sensors.Task})
	return all
}()
