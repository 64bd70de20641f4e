package webtest

import (
	"time"

	"github.com/gpumedic/gpumedic/internal/web"
)

// alerts are one of each kind: told, told by an incident, silenced, waiting, over.
func alerts(now time.Time) web.Alerts {
	at := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	gpu := map[string]string{"gpu": "2", "pci": "0000:5c:00.0", "name": "NVIDIA H200"}
	return web.Alerts{Enabled: true, At: at(0),
		Active: []web.Alert{
			{ID: 9, Name: "GPUNotAnswering", State: "firing", Severity: "critical", Fault: "gpu-missing", Labels: gpu, Value: 0,
				Summary: "GPU 3 (0000:5d:00.0) on n1 does not answer", SummaryZH: "n1 的 GPU 3（0000:5d:00.0）无应答", Since: at(12), Fired: at(11), Incident: 1, Held: true},
			{ID: 8, Name: "GPUThermalSlowdown", State: "firing", Severity: "warning", Fault: "thermal-slowdown", Labels: gpu, Value: 1,
				Summary: "GPU 2 (0000:5c:00.0) on n1 slows down for heat", SummaryZH: "n1 的 GPU 2（0000:5c:00.0）因过热降频",
				Description: "hw_thermal_slowdown is active: jobs on it are slower, and so are all that wait for them.", DescriptionZH: "hw_thermal_slowdown 生效：其上任务变慢，等待它们的任务也随之变慢。",
				URL: "https://github.com/gpumedic/gpumedic/blob/main/docs/faults/thermal-slowdown.md", Since: at(40), Fired: at(35), Told: true},
			{ID: 7, Name: "GPUMaintenanceDue", State: "firing", Severity: "info", Labels: map[string]string{"task": "cooling"}, Value: 1.8e9,
				Summary: "Maintenance is due on n1: cooling", SummaryZH: "n1 维护到期：cooling", Since: at(600), Fired: at(540), Silence: 1},
			{Name: "GPUTemperatureMarginLow", State: "pending", Severity: "warning", Fault: "thermal-slowdown", Labels: gpu, Value: 3,
				Summary: "GPU 2 (0000:5c:00.0) on n1 is close to its temperature limit", SummaryZH: "n1 的 GPU 2（0000:5c:00.0）接近温度上限", Since: at(2)},
		},
		Past: []web.Alert{{ID: 6, Name: "GpumedicSourceUnhealthy", State: "resolved", Severity: "warning", Labels: map[string]string{"source": "journal"}, Value: 0,
			Summary: "Source journal of gpumedic on n1 does not work", SummaryZH: "n1 上 gpumedic 的数据源 journal 失效", Since: at(900), Fired: at(895), Resolved: at(800), Told: true}},
	}
}
