package names

// Metrics of the node, of faults, and of gpumedic itself.
var (
	// Of a check.
	CheckStatus = &Family{Name: "gpumedic_check_status", Type: Gauge, Help: "Exit status of the check: 0 healthy, 1 warning, 2 fault, 3 unknown."}
	CheckGPUs   = &Family{Name: "gpumedic_check_gpus", Type: Gauge, Help: "GPUs that the check saw."}
	CheckUnread = &Family{Name: "gpumedic_check_unread_readings", Type: Gauge, Help: "Readings that should be there and could not be read."}
	Finding     = &Family{Name: "gpumedic_finding", Scope: GPU, Type: Gauge, Labels: []string{"fault", "severity", "class"},
		Help: "A fault that is concluded from what is read now; 1 for each."}

	// Of incidents.
	Incident = &Family{Name: "gpumedic_incident", Scope: GPU, Type: Gauge,
		Labels: []string{"id", "fault", "severity", "class", "action", "state", "silenced", "process", "pod", "slurm_job"},
		Help:   "An incident that is not closed; 1 for each. The newest 100 are listed. Those that are silenced have silenced=\"yes\"."}
	IncidentStart = &Family{Name: "gpumedic_incident_start_timestamp_seconds", Type: Gauge, Labels: []string{"id"},
		Help: "When the incident began."}
	IncidentOccurrences = &Family{Name: "gpumedic_incident_occurrences", Type: Gauge, Labels: []string{"id"},
		Help: "How often the incident's fault was seen."}
	Incidents = &Family{Name: "gpumedic_incidents", Type: Gauge, Labels: []string{"state", "severity"},
		Help: "Incidents that are not closed, by state and severity."}
	IncidentsOpened = &Family{Name: "gpumedic_incidents_opened_total", Type: Counter, Labels: []string{"fault"},
		Help: "Incidents opened or opened again since the start, by fault."}

	// Of alerts that the daemon's own rules raise.
	Alerts = &Family{Name: "gpumedic_alerts", Type: Gauge, Labels: []string{"alertname", "alertstate", "severity"},
		Help: "Alerts of the rules that the daemon evaluates by itself, by name, state (pending, firing) and severity."}

	// Of notifications.
	NoticesWaiting = &Family{Name: "gpumedic_notifications_waiting", Scope: Self, Type: Gauge, Labels: []string{"channel"},
		Help: "Notices that wait for a channel."}
	NoticesDelivered = &Family{Name: "gpumedic_notifications_delivered_total", Scope: Self, Type: Counter, Labels: []string{"channel"},
		Help: "Notices that a channel took, since the queue was made."}
	NoticesLost = &Family{Name: "gpumedic_notifications_lost_total", Scope: Self, Type: Counter, Labels: []string{"channel"},
		Help: "Notices that a channel never got, since the queue was made: refused by the receiver, too old, or too many."}
	NoticesFailing = &Family{Name: "gpumedic_notification_failures_in_a_row", Scope: Self, Type: Gauge, Labels: []string{"channel"},
		Help: "Attempts of a channel that failed since the last one that did not; 0 when it works."}

	// Of Xids.
	Xid = &Family{Name: "gpumedic_xid_total", Scope: GPU, Type: Counter, Labels: []string{"code"},
		Help: "Xid messages of the driver by code, since the start."}
	XidLast = &Family{Name: "gpumedic_xid_last_timestamp_seconds", Scope: GPU, Type: Gauge, Labels: []string{"code"},
		Help: "When the driver last wrote the Xid."}

	// Of the node.
	DriverInfo = &Family{Name: "gpumedic_driver_info", Type: Gauge, Labels: []string{"version", "cuda", "nvml", "branch", "flavor"},
		Help: "Versions of the driver; always 1."}
	ServiceRunning = &Family{Name: "gpumedic_service_running", Type: Gauge, Labels: []string{"service"}, Help: "1 when a service of NVIDIA's runs.",
		From: each("service.", ".running", From{Words: onOff}, "fabricmanager", "persistenced", "imex", "hostengine", "mps")}
	StuckCall = &Family{Name: "gpumedic_driver_call_stuck_seconds", Type: Gauge, Labels: []string{"call"},
		Help: "For how long a driver call was waited for that did not return.", From: one("probe.timeout.seconds")}
	MaintenanceDue = &Family{Name: "gpumedic_maintenance_due_timestamp_seconds", Type: Gauge, Labels: []string{"task"},
		Help: "When a task of maintenance is due."}
	MaintenanceDone = &Family{Name: "gpumedic_maintenance_last_done_timestamp_seconds", Type: Gauge, Labels: []string{"task"},
		Help: "When a task of maintenance was last done; absent when never."}

	// Of gpumedic.
	Alive = &Family{Name: "gpumedic_up", Scope: Self, Type: Gauge,
		Help: "1 when the readings are fresh, 0 when there are none or they are too old; then nothing of a GPU is given."}
	SnapshotAge  = &Family{Name: "gpumedic_snapshot_age_seconds", Scope: Self, Type: Gauge, Help: "Age of the readings."}
	SnapshotTime = &Family{Name: "gpumedic_snapshot_timestamp_seconds", Scope: Self, Type: Gauge, Help: "When the readings were taken."}
	BuildInfo    = &Family{Name: "gpumedic_build_info", Scope: Self, Type: Gauge, Labels: []string{"version", "catalog", "goversion"},
		Help: "Versions of gpumedic, its catalog and the Go it was built with; always 1."}
	Hidden = &Family{Name: "gpumedic_series_left_out", Scope: Self, Type: Gauge, Labels: []string{"of"},
		Help: "Series that are not listed because there are too many: of processes, of incidents."}

	SourceHealthy = &Family{Name: "gpumedic_source_healthy", Scope: Self, Type: Gauge, Labels: []string{"source"},
		Help: "1 when a source gives what it should, 0 when it does not: it is stuck, or it ended with an error."}
	SourceLast = &Family{Name: "gpumedic_source_last_success_timestamp_seconds", Scope: Self, Type: Gauge, Labels: []string{"source"},
		Help: "When a source last answered."}
	SourceProbes = &Family{Name: "gpumedic_source_probes_total", Scope: Self, Type: Counter, Labels: []string{"source"}, Help: "How often a source was asked."}
	SourceErrors = &Family{Name: "gpumedic_source_errors_total", Scope: Self, Type: Counter, Labels: []string{"source"},
		Help: "How often a source did not answer or answered with an error."}
	SourceSeconds = &Family{Name: "gpumedic_source_probe_seconds_total", Scope: Self, Type: Counter, Labels: []string{"source"},
		Help: "Time that was spent asking a source."}
	SourceLastSeconds = &Family{Name: "gpumedic_source_last_probe_seconds", Scope: Self, Type: Gauge, Labels: []string{"source"},
		Help: "How long a source took to answer last."}
	SourceEvents  = &Family{Name: "gpumedic_source_events_total", Scope: Self, Type: Counter, Labels: []string{"source"}, Help: "Lines or events that a source gave."}
	SourceDropped = &Family{Name: "gpumedic_source_dropped_total", Scope: Self, Type: Counter, Labels: []string{"source"},
		Help: "Lines or events of a source that were lost; 0 unless something is wrong."}
)

// Families are all metrics but those of DCGM's names, in the order of docs/metrics.md.
var Families = append(append(gpuFamilies[:len(gpuFamilies):len(gpuFamilies)], nodeFamilies...), selfFamilies...)

var nodeFamilies = []*Family{
	CheckStatus, CheckGPUs, CheckUnread, Finding,
	Incident, IncidentStart, IncidentOccurrences, Incidents, IncidentsOpened, Alerts, Xid, XidLast,
	DriverInfo,
	{Name: "gpumedic_driver_branch_supported", Type: Gauge, Help: "1 while NVIDIA fixes this branch of the driver.", From: flag("driver.branch.supported")},
	{Name: "gpumedic_nvml_ok", Type: Gauge, Help: "1 when the driver's library could be used.",
		From: []From{{Keys: []string{"nvml.status"}, Words: map[string]float64{"ok": 1, "": 0}}}},
	{Name: "gpumedic_gpus_attached", Type: Gauge, Help: "GPUs that the driver counts.", From: one("attached_gpus")},
	{Name: "gpumedic_gpus_on_bus", Type: Gauge, Help: "NVIDIA GPUs on the PCI bus.", From: one("pci.gpus")},
	{Name: "gpumedic_gpus_usable", Type: Gauge, Help: "GPUs on the bus that the driver has and that are not excluded.", From: one("pci.gpus.usable")},
	{Name: "gpumedic_gpus_expected", Type: Gauge, Help: "GPUs that the node should have, by the configuration or the baseline.", From: one("expected.gpus")},
	{Name: "gpumedic_gpu_holders", Type: Gauge, Help: "Processes that have a device file of the driver open.", From: one("holders")},
	ServiceRunning, StuckCall,
	{Name: "gpumedic_host_oom_kills_total", Type: Counter, Help: "Processes that the kernel ended for lack of host memory since boot.", From: one("host.oom_kills")},
	{Name: "gpumedic_host_memory_errors_total", Type: Counter, Labels: []string{"kind"}, Help: "Errors of host memory since boot (EDAC).",
		From: []From{{Keys: []string{"host.edac.ce"}, Labels: []string{"corrected"}}, {Keys: []string{"host.edac.ue"}, Labels: []string{"uncorrected"}}}},
	{Name: "gpumedic_host_machine_checks_total", Type: Counter, Help: "Machine check exceptions since boot.", From: one("host.mce.exceptions")},
	{Name: "gpumedic_infiniband_port_active", Scope: Port, Type: Gauge, Help: "1 when the port of a network adapter is active.",
		From: []From{{Keys: []string{"ib.state"}, Words: map[string]float64{"active": 1, "": 0}}}},
	{Name: "gpumedic_infiniband_port_rate_bytes_per_second", Scope: Port, Type: Gauge, Help: "Rate of the port.",
		From: []From{{Keys: []string{"ib.rate.gbps"}, Mul: 1e9, Div: 8}}},
	MaintenanceDue, MaintenanceDone,
}

var selfFamilies = []*Family{
	Alive, SnapshotAge, SnapshotTime, BuildInfo, Hidden,
	SourceHealthy, SourceLast, SourceProbes, SourceErrors, SourceSeconds, SourceLastSeconds, SourceEvents, SourceDropped,
	NoticesWaiting, NoticesDelivered, NoticesLost, NoticesFailing,
}
