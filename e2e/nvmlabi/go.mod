module github.com/gpumedic/gpumedic/e2e/nvmlabi

go 1.26.0

require (
	github.com/NVIDIA/go-nvml v0.13.4-1
	github.com/gpumedic/gpumedic v0.0.0
)

require github.com/ebitengine/purego v0.11.3 // indirect

replace github.com/gpumedic/gpumedic => ../..
