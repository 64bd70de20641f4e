package host

import (
	"bytes"
	"context"
	"time"

	"github.com/gpumedic/gpumedic/internal/probe"
)

// RecordedReadings is the name of the readings document in a record.
const RecordedReadings = "host.readings"

// Record gives the raw material worth keeping with a ticket, by file name: the readings,
// the kernel log and what the usual tools print. What is not there is left out.
func Record(ctx context.Context, o Options) map[string][]byte {
	out := map[string][]byte{}
	keep := func(name string, b []byte, err error) {
		if err == nil && len(b) > 0 {
			out[name] = b
		}
	}
	var doc bytes.Buffer
	w := probe.NewWriter(&doc)
	if err := Probe(ctx, w, o); err != nil { // what was read before stays
		w.Subject("node", "")
		w.Unknown("host.status", "unknown error", err.Error())
	}
	keep(RecordedReadings, doc.Bytes(), w.Err())
	log, err := kernelLog(ctx, o)
	keep("kernel.log", log, err)

	h := newProber(ctx, nil, o)
	for name, file := range map[string]string{
		"proc-driver-nvidia-version": "/proc/driver/nvidia/version", "proc-driver-nvidia-params": "/proc/driver/nvidia/params",
		"proc-cmdline": "/proc/cmdline", "proc-iomem": "/proc/iomem", "proc-meminfo": "/proc/meminfo", "proc-mounts": "/proc/self/mounts",
		"os-release": "/etc/os-release",
	} {
		s, err := h.read(file)
		keep(name+".txt", []byte(s+"\n"), err)
	}
	for name, command := range map[string][]string{
		"lspci.txt":             {"lspci", "-vvv", "-nn"},
		"ibstat.txt":            {"ibstat"},
		"systemctl-nvidia.txt":  {"systemctl", "status", "--no-pager", "nvidia-fabricmanager", "nvidia-persistenced"},
		"nvidia-smi-topo.txt":   {"nvidia-smi", "topo", "-m"},
		"nvidia-smi-nvlink.txt": {"nvidia-smi", "nvlink", "-s"},
	} {
		if o.Quick {
			break
		}
		b, err := h.run(10*time.Second, command[0], command[1:]...)
		keep(name, b, err)
	}
	return out
}
