package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
)

// fill observes new faults until the store cannot take more, and checks that what was
// refused is said, kept for the reader in memory, and stored once there is room.
func fill(t *testing.T, s *Store, makeRoom func()) {
	t.Helper()
	ctx := t.Context()
	var all []gpumedic.Finding
	var err error
	n := 0
	for ; n < 3000 && err == nil; n++ {
		f := fault(n%256, 1, t0)
		f.Case = strings.Repeat("c", 1+n/256)
		f.Evidence[0].Text = strings.Repeat("x", 400)
		all = append(all, f)
		_, err = s.Observe(ctx, t0.Add(time.Duration(n)*time.Second), incident.Observation{Node: "n1", Run: "r", Findings: all}, nil)
	}
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), s.Path()) {
		t.Fatalf("after %d faults: %v", n, err)
	}
	if got := len(s.Snapshot()); got != n {
		t.Errorf("%d incidents in memory, want %d: the one that could not be written too", got, n)
	}
	list, err := s.List(ctx, Filter{})
	if err != nil || len(list) != n-1 {
		t.Errorf("%d incidents on disk, want %d, %v", len(list), n-1, err)
	}
	makeRoom()
	r, err := s.Observe(ctx, t0.Add(time.Hour), incident.Observation{Node: "n1", Run: "r", Findings: all}, nil)
	if err != nil || len(r.Events) != 1 || r.Events[0].Kind != incident.KindOpened {
		t.Errorf("with room again: %+v %v", r.Events, err)
	}
	if list, _ := s.List(ctx, Filter{}); len(list) != n {
		t.Errorf("%d incidents, want %d", len(list), n)
	}
}

func TestFull(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "i.db"), Options{Create: true, MaxPages: 60})
	fill(t, s, func() {
		if _, err := s.w.ExecContext(t.Context(), "PRAGMA max_page_count=100000"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFullDisk does it on a real file system of one megabyte, where one can be mounted.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
	s, err := Open(t.Context(), filepath.Join(dir, "i.db"), Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(t, s, func() {
		if out, err := exec.Command("mount", "-o", "remount,size=64m", dir).CombinedOutput(); err != nil {
			t.Fatalf("remount: %v: %s", err, out)
		}
	})
}

// TestNoRoomAtAll: a store that cannot even be begun says why.
func TestNoRoomAtAll(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
	_, err := Open(t.Context(), filepath.Join(dir, "i.db"), Options{Create: true})
	if !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
}

// TestReadOnly reads a store on a file system that cannot be written, and refuses to
// write it.
func TestReadOnly(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
	s, err := Open(ctx, filepath.Join(dir, "i.db"), Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	see(t, s, t0, fault(1, 1, t0))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	if _, err := Open(ctx, s.Path(), Options{Create: true}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("opened to write: %v", err)
	}
	r := open(t, s.Path(), Options{ReadOnly: true})
	if list, err := r.List(ctx, Filter{}); err != nil || len(list) != 1 {
		t.Errorf("list %v %v", list, err)
	}
	_, err = r.Do(ctx, t0, []int64{1}, func(st *incident.Step) error { return st.Ack(1, "li", "") })
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("command on a store for reading: %v", err)
	}
	r.Close()
}

// TestDamaged: whatever is wrong with the file, the daemon goes on with a new one, the old
// one is kept, it is said, and no number is used twice; a verb only says it.
func TestDamaged(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		first  int64
	}{
		"text":         {func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 1000)) }, 10001},
		"middle":       {func(b []byte) []byte { fillWith(b[8192:], 0xa5); return b }, 0},
		"cut off":      {func(b []byte) []byte { return b[:len(b)/2] }, 0},
		"first page":   {func(b []byte) []byte { fillWith(b[100:4000], 0xff); return b }, 10001},
		"torn header":  {func(b []byte) []byte { fillWith(b[:16], 0); return b }, 10001},
		"last page":    {func(b []byte) []byte { fillWith(b[len(b)-4096:], 0x5a); return b }, 0},
		"all the same": {func(b []byte) []byte { fillWith(b, 0); return b }, 10001},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "i.db"), Options{Create: true})
			var all []gpumedic.Finding
			for n := range 40 {
				all = append(all, fault(n, 1, t0))
			}
			see(t, s, t0, all...)
			s.Close()
			b, err := os.ReadFile(s.Path())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.Path(), c.damage(b), 0o644); err != nil {
				t.Fatal(err)
			}
			if r, err := Open(ctx, s.Path(), Options{ReadOnly: true}); err == nil {
				_, err = r.List(ctx, Filter{Closed: true})
				r.Close()
				if err != nil && !errors.Is(err, ErrCorrupt) {
					t.Errorf("reading: %v", err)
				}
			} else if !errors.Is(err, ErrCorrupt) && !errors.Is(err, errForeign) {
				t.Errorf("opening to read: %v", err)
			}
			if m, _ := filepath.Glob(s.Path() + ".damaged-*"); len(m) != 0 {
				t.Fatal("a reader moved the store")
			}
			n, err := Open(ctx, s.Path(), Options{Create: true, Now: func() time.Time { return t0 }})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			aside, _ := filepath.Glob(s.Path() + ".damaged-20260301T080000Z")
			if len(n.Notes()) != 1 || !strings.Contains(n.Notes()[0], ".damaged-20260301T080000Z") || len(aside) != 1 {
				t.Fatalf("notes %q, aside %q", n.Notes(), aside)
			}
			see(t, n, t0, fault(1, 1, t0))
			id := n.Snapshot()[0].ID
			if c.first != 0 && id != c.first || id != 41 && id != 10001 {
				t.Errorf("first number %d", id)
			}
		})
	}
}

func fillWith(b []byte, c byte) {
	for i := range b {
		b[i] = c
	}
}

// TestClock: a clock that goes back is told once and nothing stands still.
func TestClock(t *testing.T) {
	s := create(t)
	see(t, s, t0.AddDate(10, 0, 0), fault(1, 1, t0))
	r := see(t, s, t0, fault(1, 5, t0.Add(time.Second)))
	if len(r.Events) != 1 || r.Events[0].Kind != incident.KindClock || !r.Written {
		t.Errorf("%+v", r)
	}
	if r := see(t, s, t0.Add(time.Second), fault(1, 6, t0.Add(2*time.Second))); len(r.Events) != 0 || r.Written {
		t.Errorf("%+v", r)
	}
	if r := see(t, s, t0.Add(8*time.Second), fault(1, 7, t0.Add(8*time.Second))); !r.Written {
		t.Error("counts are not written any more")
	}
}
