// Package sensors reads a few figures of GPUs again and again while they work: power,
// clocks, temperatures, why the clocks are held back, the PCIe link, ECC counters. It runs
// as a child's task, opens NVML once and asks little, so that it disturbs no measurement.
package sensors

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/nvml"
	"github.com/gpumedic/gpumedic/internal/probe"
)

// TaskName is the name under which the program registers Task.
const TaskName = "sensors"

// Args are the task's arguments: how often, and the GPUs' addresses.
func Args(every time.Duration, pcis []string) []string {
	return append([]string{every.String()}, pcis...)
}

// Task samples until ctx ends or the parent goes.
func Task(ctx context.Context, c *child.Context) error {
	if len(c.Args) < 2 {
		return fmt.Errorf("sample sensors: arguments %q, want an interval and GPUs", c.Args)
	}
	every, err := time.ParseDuration(c.Args[0])
	if err != nil || every <= 0 {
		return fmt.Errorf("sample sensors: interval %q", c.Args[0])
	}
	n, err := nvml.Open()
	if err != nil {
		return err
	}
	where := ""
	n.Before = func(function string) { c.Call(strings.TrimSpace(function + " " + where)) }
	if err := n.Init(); err != nil {
		return err
	}
	var devices []nvml.Device
	for _, pci := range c.Args[1:] {
		where = pci
		d, err := n.ByPCI(pci)
		if err != nil {
			return fmt.Errorf("open GPU %s: %w", pci, err)
		}
		devices = append(devices, d)
	}
	out := json.NewEncoder(c.Out)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		for i, d := range devices {
			where = c.Args[1+i]
			if err := out.Encode(look(n, d, where)); err != nil {
				return fmt.Errorf("write sample: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look asks for each figure; one that a product does not have stays zero.
func look(n *nvml.NVML, d nvml.Device, pci string) probe.Sample {
	s := probe.Sample{PCI: pci, At: time.Now().UTC()}
	if mw, err := n.PowerUsage(d); err == nil {
		s.Power = float64(mw) / 1000
	}
	s.SMClock = known(n.Clock(d, nvml.ClockSM))
	s.MemoryClock = known(n.Clock(d, nvml.ClockMem))
	s.Temperature = known(n.Temperature(d))
	if v, err := n.Field(d, nvml.FieldMemoryTemp); err == nil && v.Available() {
		s.MemoryTemp = int(v.Int())
	}
	if mask, err := n.EventReasons(d); err == nil {
		s.Reasons = reasons(mask)
	}
	s.LinkGen = known(n.PCIeGen(d))
	s.LinkWidth = known(n.PCIeWidth(d))
	s.Corrected, _ = n.ECCTotal(d, nvml.ErrorCorrected, nvml.CounterVolatile)
	s.Uncorrected, _ = n.ECCTotal(d, nvml.ErrorUncorrected, nvml.CounterVolatile)
	return s
}

// known is a figure, 0 when it could not be read.
func known[T uint32 | int32](v T, err error) int {
	if err != nil {
		return 0
	}
	return int(v)
}

// reasons are the bits by the names of docs/readings.md, but for the idle one.
func reasons(mask uint64) []string {
	var out []string
	for _, r := range []struct {
		bit  uint64
		name string
	}{
		{nvml.ReasonApplicationClocks, "applications_clocks_setting"}, {nvml.ReasonSWPowerCap, "sw_power_cap"}, {nvml.ReasonHWSlowdown, "hw_slowdown"},
		{nvml.ReasonSyncBoost, "sync_boost"}, {nvml.ReasonSWThermal, "sw_thermal_slowdown"}, {nvml.ReasonHWThermal, "hw_thermal_slowdown"},
		{nvml.ReasonHWPowerBrake, "hw_power_brake_slowdown"}, {nvml.ReasonDisplayClock, "display_clock_setting"},
	} {
		if mask&r.bit != 0 {
			out = append(out, r.name)
		}
	}
	return out
}
