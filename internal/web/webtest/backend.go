package webtest

import (
	"context"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/maintenance"
	"github.com/gpumedic/gpumedic/internal/web"
)

var (
	_ web.Backend = (*Scene)(nil)
	_ web.Actor   = (*Scene)(nil)
)

// Node is the last judgement.
func (s *Scene) Node() web.Node { return s.Info }

// Finding is what the engine said about an incident.
func (s *Scene) Finding(id int64) *gpumedic.Finding { return s.Findings[id] }

// Sources are the feeds.
func (s *Scene) Sources() []web.Source { return s.Feeds }

// Alerts are those of the rules.
func (s *Scene) Alerts() web.Alerts { return s.Rules }

// Maintenance is the calendar.
func (s *Scene) Maintenance(context.Context) ([]web.Maintenance, error) { return s.Calendar, s.Err }

// List and the others answer from the store, or with the error that a test wants.
func (s *Scene) List(ctx context.Context, f store.Filter) ([]*incident.Incident, error) {
	return or(s.Err, func() ([]*incident.Incident, error) { return s.Store.List(ctx, f) })
}

// Incident returns one.
func (s *Scene) Incident(ctx context.Context, id int64) (*incident.Incident, error) {
	return or(s.Err, func() (*incident.Incident, error) { return s.Store.Incident(ctx, id) })
}

// Silences returns those in force.
func (s *Scene) Silences(ctx context.Context, ended bool) ([]incident.Silence, error) {
	return or(s.Err, func() ([]incident.Silence, error) { return s.Store.Silences(ctx, ended) })
}

// Cards returns the inventory.
func (s *Scene) Cards(ctx context.Context) ([]incident.Card, error) {
	return or(s.Err, func() ([]incident.Card, error) { return s.Store.Cards(ctx) })
}

// History returns that of a card or slot.
func (s *Scene) History(ctx context.Context, name string) ([]incident.HistoryRow, error) {
	return or(s.Err, func() ([]incident.HistoryRow, error) { return s.Store.History(ctx, name) })
}

// Changes returns those after a number.
func (s *Scene) Changes(ctx context.Context, after int64, limit int) ([]incident.Change, error) {
	return or(s.Err, func() ([]incident.Change, error) { return s.Store.Changes(ctx, after, limit) })
}

func or[T any](err error, f func() (T, error)) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return f()
}

// act changes an incident and tells those who watch.
func (s *Scene) act(ctx context.Context, ids []int64, f func(*incident.Step) error) error {
	before, err := s.Store.LastChange(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Store.Do(ctx, time.Now(), ids, f); err != nil {
		return err
	}
	list, err := s.Store.Changes(ctx, before, 100)
	for n := range list {
		s.Hub.Publish(web.Update{Change: &list[n]})
	}
	return err
}

// Ack acknowledges.
func (s *Scene) Ack(ctx context.Context, id int64, who, why string) error {
	return s.act(ctx, []int64{id}, func(st *incident.Step) error { return st.Ack(id, who, why) })
}

// Close closes what is verified.
func (s *Scene) Close(ctx context.Context, id int64, who, why string) error {
	return s.act(ctx, []int64{id}, func(st *incident.Step) error { return st.Close(id, false, who, why) })
}

// Reopen reopens.
func (s *Scene) Reopen(ctx context.Context, id int64, who, why string) error {
	return s.act(ctx, []int64{id}, func(st *incident.Step) error { return st.Reopen(id, who, why) })
}

// Verify passes at once.
func (s *Scene) Verify(ctx context.Context, id int64, who string) error {
	return s.act(ctx, []int64{id}, func(st *incident.Step) error {
		return st.Verify(id, incident.Verification{Checks: []incident.CheckResult{{Check: "the GPU answers", Result: incident.Passed, Before: map[string]string{"gpus": "7"}, After: map[string]string{"gpus": "8"}}}}, who)
	})
}

// Silence adds a silence.
func (s *Scene) Silence(ctx context.Context, x incident.Silence) (id int64, err error) {
	err = s.act(ctx, nil, func(st *incident.Step) error {
		id, err = st.Silence(x)
		return err
	})
	return id, err
}

// EndSilence ends one.
func (s *Scene) EndSilence(ctx context.Context, id int64, who, why string) error {
	return s.act(ctx, nil, func(st *incident.Step) error { return st.EndSilence(id, who, why) })
}

func feeds(now time.Time) []web.Source {
	return []web.Source{
		{Name: "kmsg", State: web.SourceOK, What: "kernel log, /dev/kmsg", WhatZH: "内核日志 /dev/kmsg", Since: now.Add(-50 * time.Hour), Last: now.Add(-4 * time.Minute), Count: 18234,
			Blind: "Xid and AER messages", BlindZH: "Xid 与 AER 消息"},
		{Name: "nvml", State: web.SourceOK, What: "readings of the GPUs, every second", WhatZH: "GPU 读数，每秒一次", Since: now.Add(-50 * time.Hour), Last: now, Took: 0.0042, Deadline: 5, Count: 180000,
			Blind: "counters, temperatures and states that write no line", BlindZH: "不写日志的计数、温度与状态"},
		{Name: "journal", State: web.SourceOK, What: "journald, units nvidia-*", WhatZH: "journald，nvidia-* 服务", Since: now.Add(-50 * time.Hour), Last: now.Add(-time.Hour), Count: 912},
		{Name: "slurm", State: web.SourceOff, What: "job logs of Slurm", WhatZH: "Slurm 作业日志"},
	}
}

func calendar(now time.Time) []web.Maintenance {
	day := 24 * time.Hour
	return []web.Maintenance{
		{ID: "memtest", Title: "memory test of every GPU", TitleZH: "逐卡显存测试", State: maintenance.Overdue, Every: 30, Done: now.Add(-41 * day), Due: now.Add(-11 * day), Who: incident.Self,
			Evidence: "gpumedic memtest passed on 8 GPUs", EvidenceZH: "8 块 GPU 的 gpumedic memtest 均通过", Command: "gpumedic memtest --all", Why: "finds cells that go bad before a job does", WhyZH: "在作业之前发现变坏的显存单元"},
		{ID: "driver", Title: "driver review", TitleZH: "驱动版本评审", State: maintenance.Soon, Every: 90, Done: now.Add(-85 * day), Due: now.Add(5 * day), Who: "wang", Evidence: "570.133 → 580.95.05"},
		{ID: "firmware", Title: "firmware review", TitleZH: "固件评审", State: maintenance.OK, Every: 180, Done: now.Add(-20 * day), Due: now.Add(160 * day), Who: "wang"},
		{ID: "cooling", Title: "dust, fans and coolant", TitleZH: "除尘、风扇与冷却液", State: maintenance.Never, Every: 90},
	}
}
