package main

import (
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
)

// childTasks are what this program runs in a process of its own, since a driver call in
// it may never return.
var childTasks = map[string]child.Task{
	gpu.TaskName:   gpu.Task,
	gpu.FollowName: gpu.Follow,
}
