package gpu_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

// events is a task that waits for the first Xid of any GPU.
func events(_ context.Context, c *child.Context) error {
	n, err := nvml.Open()
	if err != nil {
		return err
	}
	n.Before = c.Call
	if err := n.Init(); err != nil {
		return err
	}
	set, err := n.NewEvents()
	if err != nil {
		return err
	}
	first, err := n.ByPCI("00000000:0A:00.0")
	if err != nil {
		return err
	}
	for i := range 2 {
		d, err := n.ByIndex(i)
		if err != nil {
			return err
		}
		if can, err := n.SupportedEvents(d); err != nil || can&nvml.EventXid == 0 {
			return fmt.Errorf("GPU %d: events %#x, %w", i, can, err)
		}
		if err := n.Register(d, nvml.EventXid, set); err != nil {
			return err
		}
		level, err := n.TopologyAncestor(first, d)
		fmt.Fprintln(c.Out, i, d == first, level, err)
	}
	e, err := n.Wait(set, 10*time.Millisecond)
	fmt.Fprintln(c.Out, nvml.CodeOf(err), e.Device == first, e.Data)
	if err := n.FreeEvents(set); err != nil {
		return err
	}
	return n.Shutdown()
}

func TestEvents(t *testing.T) {
	healthy, err := filepath.Abs("testdata/scenarios/healthy.txt")
	if err != nil {
		t.Fatal(err)
	}
	xid := filepath.Join(t.TempDir(), "xid.txt")
	if err := os.WriteFile(xid, []byte("include="+healthy+"\ngpu.1.xid=79\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string]string{
		xid:       "0 true 50 <nil>\n1 false 50 <nil>\nNVML_SUCCESS false 79\n",
		"healthy": "0 true 50 <nil>\n1 false 50 <nil>\nNVML_ERROR_TIMEOUT false 0\n",
	} {
		var r child.Runner
		c := runTask(t, &r, "now", scenario, child.Options{Task: "events"})
		if c.err != nil || c.doc != want {
			t.Errorf("%s: %q, %v, want %q", scenario, c.doc, c.err, want)
		}
	}
}
