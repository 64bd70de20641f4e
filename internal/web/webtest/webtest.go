// Package webtest makes nodes for tests of the page: real incidents, concluded by the
// engine from lines of a log and kept in a real store, with readings that are made up.
package webtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/source"
	"github.com/gpumedic/gpumedic/internal/web"
)

// Name is the node of all scenes.
const Name = "gpu-node-07"

// Scene is a node at a moment. It is a web.Backend and a web.Actor.
type Scene struct {
	*store.Store
	Catalog *catalog.Catalog
	Hub     *web.Hub
	Rings   *web.Rings
	Now     time.Time

	Info     web.Node
	Feeds    []web.Source
	Calendar []web.Maintenance
	Rules    web.Alerts
	Findings map[int64]*gpumedic.Finding
	// Err is what every reading of the store answers, when it is set.
	Err error
}

// Log is the kernel log of the node with a lost GPU.
const Log = `Dec 01 03:12:39 gpu-node-07 kernel: pcieport 0000:5a:01.0: AER: Uncorrectable (Fatal) error message received from 0000:5a:01.0
Dec 01 03:12:40 gpu-node-07 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=5512, name=pt_main_thread, GPU has fallen off the bus.
Dec 01 03:12:40 gpu-node-07 kernel: NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.
Dec 01 03:12:41 gpu-node-07 kernel: NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)
Dec 01 03:12:41 gpu-node-07 kernel: NVRM: Xid (PCI:0000:19:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 8(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)
Dec 01 03:14:55 gpu-node-07 kernel: INFO: task python3:5512 blocked for more than 120 seconds.
Dec 01 02:40:07 gpu-node-07 kernel: NVRM: Xid (PCI:0000:9d:00): 63, pid=0, Row Remapper: New row (0x0000000000abcdef) marked for remapping, reset gpu to activate.
Dec 01 01:20:00 gpu-node-07 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=4410, name=stencil, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x7f00_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE
`

// Healthy is a node of eight GPUs at work, with nothing wrong.
func Healthy(dir string) (*Scene, error) { return scene(dir, 8, "") }

// Empty is a node without a GPU and without any incident.
func Empty(dir string) (*Scene, error) { return scene(dir, 0, "") }

// Lost is a node of eight GPUs of which one has fallen off the bus; one waits for a
// reset, one had a faulty program on it.
func Lost(dir string) (*Scene, error) {
	s, err := scene(dir, 8, Log)
	if err != nil {
		return nil, err
	}
	lost := &s.Info.Report.GPUs[3]
	lost.State, lost.Problems = "fault", []string{"gpu-fell-off-bus"}
	silent(lost)
	s.Info.Report.GPUs[5].State, s.Info.Report.GPUs[5].Problems = "warning", []string{"row-remap-pending"}
	s.Info.Report.Status = gpumedic.ExitFault
	s.Feeds[1].State, s.Feeds[1].Error = web.SourceStale, "read GPU 3: no answer within 5 s"
	s.Feeds[1].Errors = 412
	return s, s.handle()
}

// Storm is a node on which one fault wrote 800,000 lines, with many incidents besides.
func Storm(dir string) (*Scene, error) {
	s, err := scene(dir, 8, "")
	if err != nil {
		return nil, err
	}
	var all []gpumedic.Finding
	for n := range 40 {
		all = append(all, gpumedic.Finding{
			Fault: "illegal-address", Title: "illegal address", Headline: fmt.Sprintf("program worker-%d reads outside of its memory", n), Role: gpumedic.RoleRoot,
			Layer: "software", Class: "application", Scope: "process", Severity: gpumedic.SeverityError, Action: "fix_app", Count: 20000 + n,
			Subject:  gpumedic.Subject{Node: Name, Process: gpumedic.Process{PID: 4000 + n, Name: fmt.Sprintf("worker-%d", n)}},
			Evidence: []gpumedic.EvidenceOut{{Input: "kmsg", Line: n + 1, Signal: "xid.31", Text: "NVRM: Xid (PCI:0000:3b:00): 31 <script>alert(1)</script> \u202e\x1b[31m", Count: 20000, Mark: [2]int{6, 9}}},
		})
	}
	return s, s.observe(all)
}

// Broken is a node whose store cannot be read and whose GPUs do not answer.
func Broken(dir string) (*Scene, error) {
	s, err := scene(dir, 8, "")
	if err != nil {
		return nil, err
	}
	s.Err = fmt.Errorf("read store /var/lib/gpumedic/incidents.db: %w", store.ErrCorrupt)
	s.Info.Report, s.Info.Read = nil, time.Time{}
	s.Info.Problem, s.Info.ProblemZH = "the driver does not answer: nvmlInit has been waiting for 40 s", "驱动没有响应：nvmlInit 已等待 40 秒"
	s.Feeds[1].State, s.Feeds[1].Error = web.SourceDown, "open driver: no answer within 5 s"
	return s, nil
}

func scene(dir string, gpus int, log string) (*Scene, error) {
	now := time.Now().UTC().Truncate(time.Second)
	st, err := store.Open(context.Background(), filepath.Join(dir, "incidents.db"), store.Options{Create: true})
	if err != nil {
		return nil, err
	}
	cat, err := catalog.Embedded()
	if err != nil {
		return nil, err
	}
	s := &Scene{Store: st, Catalog: cat, Hub: web.NewHub(), Rings: web.NewRings(3600), Now: now, Findings: map[int64]*gpumedic.Finding{}}
	s.Info = web.Node{Name: Name, Version: "v1.4.0", Driver: "580.95.05", Boot: "0f3c", Started: now.Add(-50 * time.Hour), Read: now, Every: 1,
		Report: &report.Node{Report: &gpumedic.Report{Schema: gpumedic.Schema, Verdict: gpumedic.VerdictNoFault}, GPUs: []report.GPU{}, Unread: []report.Unread{}, Readings: 40 * gpus}}
	var cards []incident.Card
	for n := range gpus {
		g := gpu(n)
		s.Info.Report.GPUs = append(s.Info.Report.GPUs, g)
		cards = append(cards, incident.Card{GPU: gpumedic.GPU{PCI: g.PCI, UUID: g.UUID, Serial: g.Serial, Index: g.Index}, Name: g.Name, Driver: "580.95.05", VBIOS: g.VBIOS})
	}
	if _, err := st.Do(context.Background(), now.Add(-49*time.Hour), nil, func(step *incident.Step) error {
		step.Inventory(Name, cards, true)
		return nil
	}); err != nil {
		return nil, err
	}
	lost := -1
	if log != "" {
		lost = 3
	}
	s.readings(now, lost)
	s.Feeds = feeds(now)
	s.Calendar = calendar(now)
	s.Rules = alerts(now)
	if log == "" {
		return s, nil
	}
	d, err := offline.New(cat)
	if err != nil {
		return nil, err
	}
	rep, err := d.Run(context.Background(), []source.Input{source.FromBytes("kmsg", []byte(log))}, offline.Options{Lang: "en"})
	if err != nil {
		return nil, err
	}
	s.Info.Report.Findings, s.Info.Report.Verdict = rep.Findings, rep.Verdict
	return s, s.observe(rep.Findings)
}

func (s *Scene) observe(list []gpumedic.Finding) error {
	at := s.Now.Add(-70 * time.Minute)
	if _, err := s.Store.Observe(context.Background(), at, incident.Observation{Node: Name, Run: "1", Boot: "0f3c", Lang: "en", Findings: list,
		Who: []incident.Attribution{{Node: Name, PID: 5512, Process: "pt_main_thread", Job: "88123", User: "li", Container: "pretrain-7b", GPU: gpumedic.GPU{PCI: "0000:5d:00.0"}}}}, nil); err != nil {
		return err
	}
	all, err := s.Store.List(context.Background(), store.Filter{Hidden: true})
	for _, i := range all {
		n := slices.IndexFunc(list, func(f gpumedic.Finding) bool {
			return f.Fault == i.Fault && f.Subject.GPU.PCI == i.Subject.GPU.PCI && f.Subject.Process.PID == i.Subject.Process.PID
		})
		if n >= 0 {
			s.Findings[i.ID] = &list[n]
		}
	}
	return err
}

// handle is what people did about the incidents so far.
func (s *Scene) handle() error {
	ctx := context.Background()
	all, err := s.Store.List(ctx, store.Filter{})
	if err != nil {
		return err
	}
	for _, i := range all {
		at := s.Now.Add(-40 * time.Minute)
		_, err := s.Store.Do(ctx, at, []int64{i.ID}, func(st *incident.Step) error {
			switch i.Fault {
			case "gpu-fell-off-bus":
				return errors.Join(st.Ack(i.ID, "li", "on call"), st.Act(i.ID, "reset_gpu", "li", "reset over the slot"), st.Acted(i.ID, true, "li", ""))
			case "row-remap-pending":
				return st.Ack(i.ID, "wang", "waits for the maintenance window")
			}
			return nil
		})
		if err == nil && i.Fault == "gpu-fell-off-bus" {
			_, err = s.Store.Do(ctx, at.Add(5*time.Minute), []int64{i.ID}, func(st *incident.Step) error {
				return st.Verify(i.ID, incident.Verification{Checks: []incident.CheckResult{
					{Check: "the GPU answers", Result: incident.Failed, Before: map[string]string{"gpus": "7"}, After: map[string]string{"gpus": "7"}},
					{Check: "the link has its full width", Result: incident.Unknown, Detail: "no reading"},
				}}, "li")
			})
		}
		if err != nil {
			return err
		}
	}
	_, err = s.Store.Do(ctx, s.Now.Add(-30*time.Minute), nil, func(st *incident.Step) error {
		_, err := st.Silence(incident.Silence{Fault: "row-remap-*", Until: s.Now.Add(5 * time.Hour), Who: "wang", Why: "reset is planned for 06:00"})
		return err
	})
	return err
}

func ptr(f float64) *float64 { return &f }

var slots = []string{"0000:19:00.0", "0000:3b:00.0", "0000:4c:00.0", "0000:5d:00.0", "0000:9b:00.0", "0000:9d:00.0", "0000:bb:00.0", "0000:cb:00.0"}

func gpu(n int) report.GPU {
	g := report.GPU{Node: Name, Index: &n, PCI: slots[n%len(slots)], UUID: fmt.Sprintf("gpu-5f3a9c10-1b2d-4e6f-8a70-9bcd0123450%d", n), Serial: fmt.Sprint(1650000000100 + n),
		Name: "NVIDIA H200", VBIOS: "96.00.B5.00.03", Driver: "580.95.05", State: "ok", Processes: 1,
		MemoryTotal: ptr(143771), PowerLimit: ptr(700), Margin: ptr(38), Gen: ptr(5), GenMax: ptr(5), Width: ptr(16), WidthMax: ptr(16), LinksUp: ptr(18), LinksDown: ptr(0)}
	work(&g, n, 3600)
	return g
}

// work gives the readings of a training job: memory fills, then stays; power follows the
// steps; a checkpoint every ten minutes lets the GPU rest.
func work(g *report.GPU, n, second int) {
	x := float64(second)
	rest := second%600 < 45
	busy, power := 96+3*math.Sin(x/7+float64(n)), 610+45*math.Sin(x/31+float64(n))
	if rest {
		busy, power = 6, 190
	}
	g.MemoryUsed = ptr(math.Min(128000+float64(500*n), 30000+x*160))
	g.Utilization, g.Power, g.Temperature = ptr(math.Round(busy)), ptr(math.Round(power)), ptr(math.Round(54+power/60+float64(n%3)))
	g.Corrected, g.Uncorrected = ptr(0), ptr(0)
	if n == 5 {
		g.Corrected = ptr(3 + math.Floor(x/500))
	}
}

// silent is a GPU that answers nothing.
func silent(g *report.GPU) {
	g.MemoryUsed, g.Utilization, g.Power, g.Temperature, g.Corrected, g.Uncorrected = nil, nil, nil, nil, nil, nil
}

func (s *Scene) readings(now time.Time, lost int) {
	for second := 0; second <= 3600; second += 5 {
		list := make([]report.GPU, 0, 8)
		for n, g := range s.Info.Report.GPUs {
			work(&g, n, second)
			if n == lost && second > 2400 {
				silent(&g)
			}
			list = append(list, g)
		}
		s.Rings.Add(now.Add(time.Duration(second-3600)*time.Second), list)
	}
}

// Next gives the next readings, as the daemon would publish them.
func (s *Scene) Next(second int) []report.GPU {
	list := slices.Clone(s.Info.Report.GPUs)
	for n := range list {
		if list[n].MemoryUsed != nil {
			work(&list[n], n, 3600+second)
		}
	}
	return list
}

// Config is that of a page over the scene.
func (s *Scene) Config() web.Config {
	return web.Config{Backend: s, Hub: s.Hub, Rings: s.Rings, Catalog: s.Catalog, Zone: time.FixedZone("CST", 8*3600)}
}
