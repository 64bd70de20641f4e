package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// onStore runs a step on a store as the daemon would, some time ago.
func onStore(ts *testscript.TestScript, file, ago string, f func(*incident.Step) error) {
	ctx := context.Background()
	s, err := store.Open(ctx, ts.MkAbs(file), store.Options{Create: true})
	ts.Check(err)
	d, err := time.ParseDuration(ago)
	ts.Check(err)
	_, err = s.Do(ctx, time.Now().Add(-d), nil, f)
	ts.Check(err)
	ts.Check(s.Close())
}

// observe STORE AGO REPORT.json...: the daemon sees the answers of reports as one.
func observe(ts *testscript.TestScript, _ bool, args []string) {
	var r gpumedic.Report
	for _, a := range args[2:] {
		var one gpumedic.Report
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(a)), &one))
		r.Findings, r.Unexplained = append(r.Findings, one.Findings...), append(r.Unexplained, one.Unexplained...)
	}
	onStore(ts, args[0], args[1], func(st *incident.Step) error {
		st.Observe(incident.Observation{
			Node: "node1", Run: "r", Boot: "b", Lang: "en", Findings: r.Findings, Unexplained: r.Unexplained,
			Who: []incident.Attribution{{Node: "node1", PID: 7194, Job: "4711", User: "wang", Pod: "ml/train-0"}},
		})
		return nil
	})
}

// inventory STORE AGO PCI,UUID,SERIAL,DRIVER...: the daemon sees these cards.
func inventory(ts *testscript.TestScript, _ bool, args []string) {
	var cards []incident.Card
	for _, a := range args[2:] {
		p := strings.Split(a, ",")
		cards = append(cards, incident.Card{GPU: gpumedic.GPU{PCI: p[0], UUID: p[1], Serial: p[2]}, Driver: p[3], Name: "NVIDIA H100"})
	}
	onStore(ts, args[0], args[1], func(st *incident.Step) error { st.Inventory("node1", cards, true); return nil })
}

// repair STORE AGO ID RESULT: a repair and a verification with that result.
func repair(ts *testscript.TestScript, _ bool, args []string) {
	id, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	onStore(ts, args[0], args[1], func(st *incident.Step) error {
		ts.Check(st.Act(id, "reset_gpu", "li", "nvidia-smi --gpu-reset"))
		ts.Check(st.Acted(id, true, "li", ""))
		return st.Verify(id, incident.Verification{Checks: []incident.CheckResult{{
			Check: "no pending remap", Result: args[3], Before: map[string]string{"pending": "yes"}, After: map[string]string{"pending": "no"},
		}}}, "li")
	})
}
