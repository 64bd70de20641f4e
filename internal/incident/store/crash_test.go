package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("GPUMEDIC_TEST_STORM"); path != "" {
		if err := storm(context.Background(), path, time.Millisecond); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// batches is how many answers a storm has; each holds thousands of lines.
const batches = 1500

// storm reads a made-up log of Xid lines from where the store says that it stopped. Its
// clock is that of the log, so that every run over it says the same.
func storm(ctx context.Context, path string, pause time.Duration) error {
	s, err := Open(ctx, path, Options{Create: true})
	if err != nil {
		return err
	}
	fmt.Println("open")
	text, err := s.Cursor(ctx, "kmsg")
	if err != nil {
		return err
	}
	start, _ := strconv.Atoi(text) // "" is the beginning
	run := fmt.Sprint(os.Getpid(), "-", start)
	counts, first, last := map[int]int{}, map[int]time.Time{}, map[int]time.Time{}
	for n := start; n < batches; n++ {
		now := t0.Add(time.Duration(n) * time.Second)
		// GPU 0 storms all the time; one more GPU each 100 batches, which then comes
		// back after a quarter of an hour of quiet.
		for _, g := range []int{0, 1 + n%900/100} {
			counts[g] += 500 + n
			last[g] = now
			if first[g].IsZero() {
				first[g] = now
			}
		}
		o := incident.Observation{Node: "n1", Run: run, Continues: true, Boot: "b"}
		for g := range 16 {
			if counts[g] > 0 {
				f := fault(g, counts[g], last[g])
				f.FirstSeen = first[g].Format(time.RFC3339)
				o.Findings = append(o.Findings, f)
			}
		}
		if _, err := s.Observe(ctx, now, o, map[string]string{"kmsg": strconv.Itoa(n + 1)}); err != nil {
			return err
		}
		if n%250 == 249 { // a person's command between two answers
			id := int64(1 + n/250)
			_, err := s.Do(ctx, now, []int64{id}, func(st *incident.Step) error { return st.Ack(id, "li", "") })
			if err != nil && !errors.Is(err, incident.ErrState) {
				return err
			}
		}
		time.Sleep(pause)
	}
	return s.Close()
}

// TestKill: killed at any point, again and again, a storm leaves what it would have left
// without that: no incident, event, change or line is lost or there twice.
// GPUMEDIC_TEST_KILLS sets how often (default 30).
func TestKill(t *testing.T) {
	kills := 30
	if n, err := strconv.Atoi(os.Getenv("GPUMEDIC_TEST_KILLS")); err == nil {
		kills = n
	}
	if testing.Short() {
		kills = 5
	}
	dir := t.TempDir()
	calm, wild := filepath.Join(dir, "calm.db"), filepath.Join(dir, "wild.db")
	if err := storm(t.Context(), calm, 0); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for range kills {
		if runAndKill(t, wild) {
			killed++
		}
	}
	runToEnd(t, wild)
	t.Logf("killed %d of %d times during the storm", killed, kills)
	if killed < kills/2 {
		t.Errorf("only %d of %d kills met a running storm", killed, kills)
	}
	a, b := picture(t, calm), picture(t, wild)
	if a != b {
		t.Errorf("without kills:\n%s\nwith kills:\n%s", a, b)
	}
	if !strings.Contains(a, "recurred") || !strings.Contains(a, "acknowledged") {
		t.Errorf("the storm tests too little:\n%s", a)
	}
}

// runAndKill starts the storm in a process of its own and kills it; false when it was
// through before.
func runAndKill(t *testing.T, path string) bool {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GPUMEDIC_TEST_STORM="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if rand.IntN(5) > 0 { // the rest are killed while they open the store
		bufio.NewReader(out).ReadString('\n')
	}
	time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
	cmd.Process.Kill()
	return cmd.Wait() != nil
}

// runToEnd lets the storm end.
func runToEnd(t *testing.T, path string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GPUMEDIC_TEST_STORM="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// picture is all that must be equal: the names of runs differ.
func picture(t *testing.T, path string) string {
	ctx := t.Context()
	s := open(t, path, Options{ReadOnly: true})
	var b strings.Builder
	list, err := s.List(ctx, Filter{Closed: true, Hidden: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		fmt.Fprintf(&b, "%d %s %s %s count %d occurrences %d %s %s first %s last %s\n", i.ID, i.Fault, i.Subject.GPU.PCI, i.State, i.Count, i.Occurrences, i.Action, i.Severity, i.First, i.Last)
		events, err := s.Events(ctx, i.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			fmt.Fprintf(&b, "  %s %s %s→%s %s %s\n", e.At.Format(time.TimeOnly), e.Kind, e.From, e.To, e.Who, e.Why)
		}
	}
	changes, err := s.Changes(ctx, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		fmt.Fprintf(&b, "%d %d %s\n", c.Seq, c.ID, c.Kind)
	}
	h, err := s.History(ctx, fmt.Sprint(1000))
	fmt.Fprintln(&b, len(h), err)
	cursor, err := s.Cursor(ctx, "kmsg")
	fmt.Fprintln(&b, cursor, err)
	return b.String()
}
