//go:build e2e

// Package repair plays the life of one fault from end to end with real peers: the program
// as it is built, a real Prometheus with the rules of deploy/, a real Alertmanager (Debian:
// prometheus, prometheus-alertmanager) and a receiver of notifications, with the daemon
// behind TLS and a password. Only the GPUs are not real: NVML and CUDA are fake libraries, the kernel's records a file.
package repair

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gpumedic/gpumedic/e2e/peers"
	"github.com/gpumedic/gpumedic/internal/incident"
)

const fault = "ecc-uncorrectable-uncontained"

// brokenKernel and brokenDriver are what the kernel and then the driver say of GPU 2.
var brokenKernel = []string{
	"NVRM: Xid (PCI:0000:12:00): 48, pid=8841, name=python, An uncorrectable double bit error (DBE) has been detected on GPU in the L2 cache",
	"NVRM: Xid (PCI:0000:12:00): 95, pid=8841, name=python, Uncontained: LTC DATA (0x1, 0x3). RST: Yes, D-RST: No",
	"NVRM: Xid (PCI:0000:12:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
	"NVRM: Xid (PCI:0000:12:00): 45, pid=8841, name=python, Ch 00000008",
}

const brokenDriver = "gpu.2.field.230=1\ngpu.2.ecc.0.0=1\ngpu.2.ecc.0.0.2=1\ngpu.2.ecc.1.0=1\n"

// After a reset the driver is content; the memory is not.
const (
	resetDriver = "gpu.2.ecc.1.0=1\n"
	resetMemory = "fault=stuck,gpu=2,offset=4096,bit=3"
)

// Another card.
const newDriver = "gpu.2.serial=1659999999999\ngpu.2.uuid=GPU-0badcafe-2222-4a4a-9c9c-0a0b0c0d0e0f\n"

func TestRepair(t *testing.T) {
	hook := newReceiver(t)
	am := peers.StartAlertmanager(t, fmt.Sprintf("route: {receiver: r, group_by: [alertname], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}\n"+
		"receivers: [{name: r, webhook_configs: [{url: %q, send_resolved: true}]}]\n", hook.URL))
	n := newNode(t)
	// The rules are the ones of deploy/, unchanged: the alert of a critical incident waits
	// for nothing, so that no time of theirs has to be shortened.
	rules, err := filepath.Abs("../../deploy/prometheus/gpumedic.rules.yaml")
	must(t, err)
	prom := peers.StartPrometheus(t, fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}\n"+
		"scrape_configs: [{job_name: gpumedic, scheme: https, tls_config: {ca_file: %q}, basic_auth: {username: %q, password: %q}, static_configs: [{targets: [%q]}]}]\n",
		rules, am.URL[len("http://"):], n.web.CA, user, password, n.addr))
	p := &path{t, n, prom, am, hook}
	n.watch(am.URL, hook.URL)
	peers.Until(t, "a scrape", func() bool { return len(p.query("gpumedic_up == 1")) == 1 })
	p.nothing("before the fault")

	n.kernel(brokenKernel...)
	n.gpus(brokenDriver)
	id := p.told()
	// The driver's own verdict is in the readings before anything is repaired.
	peers.Until(t, "the driver's verdict as a metric", func() bool { return len(p.query(`gpumedic_gpu_recovery_action{gpu="2",action="reset"} == 1`)) == 1 })

	p.verify("not repaired", id, 2, "readings")
	n.gpus(resetDriver)
	n.memory = resetMemory
	p.verify("reset, and the memory is still bad", id, 2, "memtest")
	if i := p.incident(id); !i.Live() {
		t.Fatalf("closed although its verifications failed: %+v", i)
	}
	n.gpus(newDriver)
	n.memory = ""
	p.verify("the card was exchanged", id, 0, "")

	p.over(id)
	p.nothing("after the repair")
	// Nothing of it comes back with the next daemon, which reads the same log.
	n.stop()
	n.watch(am.URL, hook.URL)
	p.nothing("after a restart")
	if list := n.incidents(); len(list) != 1 || list[0].Live() || list[0].Reopens != 0 {
		t.Errorf("incidents at the end: %+v", list)
	}
	for _, kind := range []string{" opened", " closed"} {
		if got := hook.count(fault + kind); got != 1 {
			t.Errorf("told %d times that the incident was%s\n%s", got, kind, hook.text())
		}
	}
}

// path is what one fault goes through.
type path struct {
	t    *testing.T
	n    *node
	prom *peers.Prometheus
	am   *peers.Alertmanager
	hook *receiver
}

func (p *path) query(q string) []peers.Sample {
	s, _ := p.prom.Query(q) // it may not be up yet
	return s
}

// nothing: no incident lives, and no alert of one is told.
func (p *path) nothing(when string) {
	p.t.Helper()
	for _, i := range p.n.incidents() {
		if i.Live() {
			p.t.Errorf("%s: incident %d %s %s", when, i.ID, i.Fault, i.State)
		}
	}
	for _, a := range p.am.Alerts() {
		if !ofEvents[a.Labels["alertname"]] {
			p.t.Errorf("%s: Alertmanager has %v", when, a.Labels)
		}
	}
}

func (p *path) incident(id int64) *incident.Incident {
	for _, i := range p.n.incidents() {
		if i.ID == id {
			return &i
		}
	}
	p.t.Fatalf("no incident %d", id)
	return nil
}

// ofEvents are rules that tell of an event for some minutes, whatever becomes of it: no
// repair ends them sooner.
var ofEvents = map[string]bool{"GPUXid": true, "GPUUncorrectableECC": true}

// told follows the fault outwards, step by step, and gives the incident's number.
func (p *path) told() (id int64) {
	p.t.Helper()
	peers.Until(p.t, "the incident in the API", func() bool {
		for _, i := range p.n.incidents() {
			if i.Fault == fault && i.Visible && i.Severity == "critical" {
				id = i.ID
			}
		}
		return id != 0
	})
	if i := p.incident(id); i.Subject.GPU.PCI != "0000:12:00.0" || i.Subject.GPU.Serial != "1650000000002" || len(i.Victims) != 1 || i.Victims[0].PID != 8841 || i.Action != "reset_gpu" {
		p.t.Errorf("incident: %+v", i)
	}
	series := fmt.Sprintf(`gpumedic_incident{id="%d",fault=%q,severity="critical",gpu="2",state="open"} == 1`, id, fault)
	peers.Until(p.t, "the metric in Prometheus", func() bool { return len(p.query(series)) == 1 })
	peers.Until(p.t, "the alert firing in Prometheus", func() bool {
		list, err := p.prom.Alerts()
		must(p.t, err)
		for _, a := range list {
			if a.Labels["alertname"] == "GPUIncidentCritical" && a.Labels["fault"] == fault && a.Labels["gpu"] == "2" && a.State == "firing" {
				return true
			}
		}
		return false
	})
	peers.Until(p.t, "both alerts in Alertmanager", func() bool {
		rule, own := false, false
		for _, a := range p.am.Alerts() {
			rule = rule || a.Labels["alertname"] == "GPUIncidentCritical" && a.Labels["fault"] == fault
			own = own || a.Labels["alertname"] == fault && a.Labels["node"] == "n1" && a.Labels["incident"] == fmt.Sprint(id)
		}
		return rule && own
	})
	for _, what := range []string{"GPUIncidentCritical firing", fault + " firing", fault + " opened"} {
		peers.Until(p.t, "the notification "+what, func() bool { return p.hook.told(what) })
	}
	return id
}

// verify verifies and holds the result against what must come.
func (p *path) verify(when string, id int64, want int, failed string) {
	p.t.Helper()
	p.n.settled()
	status, said := p.n.verify(id, "--close")
	if status != want {
		p.t.Fatalf("%s: verify ended with %d, want %d:\n%s", when, status, want, said)
	}
	var one struct{ Verifications []incident.Verification }
	must(p.t, p.n.get(fmt.Sprintf("/api/v1/incidents/%d", id), &one))
	if len(one.Verifications) == 0 {
		p.t.Fatalf("%s: no verification is kept", when)
	}
	last := one.Verifications[len(one.Verifications)-1]
	if last.Passed != (failed == "") {
		p.t.Errorf("%s: %+v", when, last)
	}
	for _, c := range last.Checks {
		if w := map[bool]string{true: incident.Failed, false: incident.Passed}[c.Check == failed]; c.Result != w {
			p.t.Errorf("%s: check %s %s, want %s: %s", when, c.Check, c.Result, w, c.Detail)
		}
	}
}

// over follows the end outwards.
func (p *path) over(id int64) {
	p.t.Helper()
	i := p.incident(id)
	if i.State != incident.Closed || i.Forced || i.Verified.IsZero() || i.Attempts != 3 {
		p.t.Errorf("after the verification: %+v", i)
	}
	peers.Until(p.t, "the end of the metric", func() bool {
		s, err := p.prom.Query("gpumedic_incident")
		return err == nil && len(s) == 0
	})
	peers.Until(p.t, "the end of the alert in Prometheus", func() bool {
		list, err := p.prom.Alerts()
		must(p.t, err)
		for _, a := range list {
			if !ofEvents[a.Labels["alertname"]] {
				return false
			}
		}
		return true
	})
	for _, what := range []string{"GPUIncidentCritical resolved", fault + " resolved", fault + " closed"} {
		peers.Until(p.t, "the notification "+what, func() bool { return p.hook.told(what) })
	}
	peers.Until(p.t, "the end of the alerts in Alertmanager", func() bool {
		for _, a := range p.am.Alerts() {
			if !ofEvents[a.Labels["alertname"]] {
				return false
			}
		}
		return true
	})
}
