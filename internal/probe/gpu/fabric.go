package gpu

import (
	"fmt"
	"strings"

	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

var (
	fabricStates    = map[uint32]string{nvml.FabricNotStarted: "not started", nvml.FabricInProgress: "in progress", nvml.FabricCompleted: "completed"}
	fabricSummaries = map[uint32]string{1: "healthy", 2: "unhealthy", 3: "limited capacity"}
	trueFalse       = map[uint32]string{1: "true", 2: "false"}
	fabricConfig    = map[uint32]string{
		1: "none", 2: "incorrect system guid", 3: "incorrect chassis serial number", 4: "no partition", 5: "insufficient nvlinks",
		6: "incompatible gpu firmware", 7: "invalid location", 8: "gpu state invalid",
	}
)

// fabricHealth are the parts of the health mask (NVML_GPU_FABRIC_HEALTH_MASK_*): where
// each begins, how wide it is, and its words. Zero says that the driver does not know.
var fabricHealth = []struct {
	key         string
	shift, mask uint32
	words       map[uint32]string
}{
	{"bandwidth", 0, 3, map[uint32]string{1: "degraded", 2: "full"}},
	{"route_recovery_in_progress", 2, 3, trueFalse},
	{"route_unhealthy", 4, 3, trueFalse},
	{"access_timeout_recovery", 6, 3, trueFalse},
	{"incorrect_configuration", 8, 0xf, fabricConfig},
}

// fabric is the GPU's registration with the NVLink fabric.
func (r *reader) fabric() {
	f, err := r.n.Fabric(r.d)
	if err != nil {
		r.putAll(err, "fabric.state", "fabric.status")
		return
	}
	if f.State == nvml.FabricNotSupported {
		r.w.Absent("fabric.state", "nvmlDeviceGetGpuFabricInfoV: not supported")
		return
	}
	r.w.Value("fabric.state", word(fabricStates)(uint32(f.State)))
	if f.State != nvml.FabricCompleted {
		r.w.Absent("fabric.status", "no status before the registration is completed")
		return
	}
	if f.Status == nvml.Success {
		r.w.Value("fabric.status", "success")
	} else {
		r.w.Value("fabric.status", fmt.Sprintf("%s (%d)", strings.ToLower(f.Status.String()), int32(f.Status)))
	}
	r.w.Value("fabric.clique_id", f.CliqueID)
	r.w.Value("fabric.cluster_uuid", uuid(f.ClusterUUID))
	if s, ok := fabricSummaries[uint32(f.HealthSummary)]; ok {
		r.w.Value("fabric.health.summary", s)
	}
	for _, h := range fabricHealth {
		if v := f.HealthMask >> h.shift & h.mask; v != 0 {
			r.w.Value("fabric.health."+h.key, word(h.words)(v))
		}
	}
}

func uuid(b [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
