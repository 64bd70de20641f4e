package watch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/check"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/maintenance"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/web"
)

// backend is the daemon as the page sees it.
type backend struct {
	*store.Store
	d *Daemon

	mu   sync.Mutex
	made time.Time // of the view that node was made of
	node *report.Node
}

var _ web.Backend = (*backend)(nil)

// seen is what the loop shows: made anew each second, never changed.
type seen struct {
	read, judged time.Time
	sets         []section.Readings
	findings     []gpumedic.Finding
	unexplained  []gpumedic.Unexplained
	notes        []string
}

func (b *backend) seen() *seen { return b.d.outlets.last.Load() }

// List answers from memory while the store cannot be written: what is in memory then is
// newer than what is in the file.
func (b *backend) List(ctx context.Context, f store.Filter) ([]*incident.Incident, error) {
	if b.d.health.stateOf(sourceStore) != SourceFailed {
		return b.Store.List(ctx, f)
	}
	out := []*incident.Incident{}
	for _, i := range b.Store.Snapshot() {
		if (i.Live() || f.Closed) && (i.Visible || f.Hidden) {
			out = append(out, i)
		}
	}
	return out, nil
}

// Incident is List for one.
func (b *backend) Incident(ctx context.Context, id int64) (*incident.Incident, error) {
	if b.d.health.stateOf(sourceStore) == SourceFailed {
		for _, i := range b.Store.Snapshot() {
			if i.ID == id {
				return i, nil
			}
		}
	}
	return b.Store.Incident(ctx, id)
}

// Node implements web.Backend.
func (b *backend) Node() web.Node {
	d := b.d
	n := web.Node{Name: d.o.Config.Node, Version: d.o.Version, Boot: d.loop.boot, Started: d.started, Every: d.config().GPUs.Interval.Seconds()}
	s := b.seen()
	if s == nil || s.read.IsZero() {
		n.Problem, n.ProblemZH = "nothing was read yet", "尚未取得任何读数"
		return n
	}
	n.Read = s.read
	for i := range s.sets {
		if v := s.sets[i].Values["driver.version"].Value; v != "" && v != "N/A" {
			n.Driver = v
		}
	}
	if age := d.o.Now().Sub(s.read); age > 2*d.config().GPUs.QuickEvery {
		n.Problem = fmt.Sprintf("the last readings are %s old", age.Round(time.Second))
		n.ProblemZH = fmt.Sprintf("最近一次读数距今 %s", age.Round(time.Second))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.node == nil || !b.made.Equal(s.judged) || s.read.Sub(b.made) > time.Second {
		b.node = check.Standing(&gpumedic.Report{
			Schema: gpumedic.Schema, Tool: gpumedic.Tool{Version: d.o.Version, Catalog: d.o.Names},
			Findings: slices.Clone(s.findings), Unexplained: s.unexplained, Notes: slices.Clone(s.notes),
		}, s.sets)
		b.made = s.judged
	}
	n.Report = b.node
	return n
}

// Finding implements web.Backend.
func (b *backend) Finding(id int64) *gpumedic.Finding {
	s := b.seen()
	if s == nil {
		return nil
	}
	var i *incident.Incident
	for _, x := range b.Store.Snapshot() {
		if x.ID == id {
			i = x
		}
	}
	if i == nil {
		return nil
	}
	var near *gpumedic.Finding
	for n := range s.findings {
		f := &s.findings[n]
		if f.Fault != i.Fault || f.Case != i.Case {
			continue
		}
		for _, e := range f.Evidence {
			if slices.ContainsFunc(i.Evidence, func(k incident.Evidence) bool {
				return k.Input == e.Input && k.Line == e.Line && k.Signal == e.Signal
			}) {
				return f
			}
		}
		if near == nil && (f.Subject.GPU.IsZero() && i.Subject.GPU.IsZero() || incident.SameGPU(f.Subject.GPU, i.Subject.GPU)) {
			near = f
		}
	}
	return near
}

// sourceTexts say what each source is, and what nobody sees without it.
var sourceTexts = map[string][4]string{
	sourceKernel:  {"the kernel's log", "内核日志", "Xid and PCIe errors, kernel hangs, memory kills", "Xid 与 PCIe 错误、内核卡死、内存不足时的强制终止"},
	sourceJournal: {"systemd's journal: services, and the kernel before the last restart", "systemd 日志：各项服务，以及上次重启前的内核日志", "failures of services of the driver and of containers", "驱动相关服务与容器的故障"},
	sourceJobs:    {"logs of jobs", "作业日志", "what programs say when they fail", "程序出错时的输出"},
	sourceGPUs:    {"the GPUs' readings, through NVML", "经 NVML 读取的 GPU 读数", "GPUs that are lost, memory errors, temperature, power and links", "GPU 掉线、显存错误、温度、功耗与链路状态"},
	sourceHost:    {"the machine: PCI bus, services, processes, memory", "主机：PCI 总线、服务、进程、内存", "links, services and who is on the GPUs", "链路、服务以及 GPU 上的进程"},
	sourceStore:   {"the store of incidents", "故障事件库", "nothing; but incidents are lost when the daemon ends", "不影响观测，但守护进程退出后事件会丢失"},
}

var sourceStates = map[string]string{
	SourceOK: web.SourceOK, SourceStarting: web.SourceStarting, SourceStuck: web.SourceStale, SourceFailed: web.SourceDown, SourceOff: web.SourceOff,
}

// Sources implements web.Backend.
func (b *backend) Sources() []web.Source {
	var out []web.Source
	for _, s := range b.d.health.snapshot() {
		t := sourceTexts[s.Name]
		w := web.Source{Name: s.Name, State: sourceStates[s.State], What: t[0], WhatZH: t[1], Since: s.Since, Last: s.LastSuccess, Error: s.Error,
			Took: s.LastDuration.Seconds(), Deadline: s.patience.Seconds(), Count: int64(max(s.Events, s.Answers)), Errors: int64(s.Errors), Dropped: int64(s.Lost)}
		if s.State == SourceStuck || s.State == SourceFailed {
			w.Blind, w.BlindZH = t[2], t[3]
		}
		out = append(out, w)
	}
	return out
}

// Alerts implements web.Backend.
func (b *backend) Alerts() web.Alerts { return b.d.alerts.Load().list() }

// Maintenance implements web.Backend.
func (b *backend) Maintenance(ctx context.Context) ([]web.Maintenance, error) {
	items, err := maintenance.Read(ctx, b.Store, b.d.calendar, b.d.o.Now())
	if err != nil {
		return nil, err
	}
	out := []web.Maintenance{}
	for _, i := range items {
		out = append(out, web.Maintenance{ID: i.ID, Title: i.Title.EN, TitleZH: i.Title.ZH, State: i.State, Every: i.Every, Done: i.Last, Due: i.Due,
			Who: i.Who, Evidence: i.Evidence.EN, EvidenceZH: i.Evidence.ZH, Command: i.Command, Why: i.Why.EN, WhyZH: i.Why.ZH})
	}
	return out, nil
}

// actor does what a person asks for on the page.
type actor struct{ d *Daemon }

var _ web.Actor = actor{}

func (a actor) do(ctx context.Context, id int64, f func(*incident.Step) error) error {
	r, err := a.d.store.Do(ctx, a.d.o.Now(), []int64{id}, f)
	if err == nil && len(r.Changes) > 0 {
		a.d.outlets.changed(r)
	}
	return err
}

func (a actor) Ack(ctx context.Context, id int64, who, why string) error {
	return a.do(ctx, id, func(s *incident.Step) error { return s.Ack(id, who, why) })
}

func (a actor) Close(ctx context.Context, id int64, who, why string) error {
	return a.do(ctx, id, func(s *incident.Step) error { return s.Close(id, false, who, why) })
}

func (a actor) Reopen(ctx context.Context, id int64, who, why string) error {
	return a.do(ctx, id, func(s *incident.Step) error { return s.Reopen(id, who, why) })
}

// Verify runs the verb in a process of its own: its checks may load the driver.
func (a actor) Verify(ctx context.Context, id int64, who string) error {
	if _, err := a.d.store.Incident(ctx, id); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("verify incident %d: %w", id, err)
	}
	cmd := exec.Command(program, "verify", strconv.FormatInt(id, 10), "--store", a.d.o.Config.Store, "--who", who, "--quiet")
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("verify incident %d: %w", id, err)
	}
	a.d.wg.Go(func() {
		if err := cmd.Wait(); err != nil {
			a.d.o.Log.Info("verification ended", "incident", id, "result", err)
		}
	})
	return nil
}

func (a actor) Silence(ctx context.Context, x incident.Silence) (id int64, err error) {
	err = a.do(ctx, 0, func(s *incident.Step) (err error) { id, err = s.Silence(x); return err })
	return id, err
}

func (a actor) EndSilence(ctx context.Context, id int64, who, why string) error {
	return a.do(ctx, 0, func(s *incident.Step) error { return s.EndSilence(id, who, why) })
}
