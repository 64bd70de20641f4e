//go:build unix

package notify

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	childEnv   = "NOTIFY_TEST_CHILD" // the database; makes this test program the child
	childURL   = "NOTIFY_TEST_URL"
	killTotal  = 800 // notices
	killRounds = 30
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := child0(path, os.Getenv(childURL)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child0 is a daemon in small: a store that writes a change and its notice in one
// transaction, and the delivery beside it. It goes on where the last one was killed.
func child0(path, url string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS change (id INTEGER PRIMARY KEY)`); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n, err := New(ctx, db, &Config{Channels: []Channel{
		{Name: "single", Type: "webhook", URL: url + "/single"},
		{Name: "grouped", Type: "webhook", URL: url + "/grouped", Group: Group{Window: 5 * time.Millisecond}},
	}}, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.Run(ctx) })
	for {
		var last int64
		if err := db.QueryRow(`SELECT coalesce(max(id), 0) FROM change`).Scan(&last); err != nil {
			return err
		}
		if last == killTotal {
			break
		}
		if err := change(ctx, db, n, last+1); err != nil {
			return err
		}
	}
	for {
		s, err := n.Stats(ctx)
		if err != nil {
			return err
		}
		if s[0].Waiting+s[1].Waiting == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	wg.Wait()
	return nil
}

func change(ctx context.Context, db *sql.DB, n *Notifier, id int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`INSERT INTO change (id) VALUES (?)`, id); err != nil {
		return err
	}
	nt := notice(id, 1+id%37, Escalated)
	nt.At = time.Now()
	nt.Opened = nt.At
	if err := n.PutTx(ctx, tx, nt); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	n.Wake()
	return nil
}

// TestKilledAtRandom: a daemon killed with SIGKILL again and again while it delivers
// loses nothing; what arrives twice has the same key and the same text, and that happens
// at most once for each kill and channel.
func TestKilledAtRandom(t *testing.T) {
	type arrival struct{ key, body string }
	var mu sync.Mutex
	got := map[string][]Delivery{}
	bodies := map[arrival]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			return // cut off: not received
		}
		var d Delivery
		if err := json.Unmarshal(b, &d); err != nil {
			t.Errorf("body: %v", err)
			return
		}
		mu.Lock()
		got[d.Channel] = append(got[d.Channel], d)
		bodies[arrival{d.Key, string(b)}] = true
		mu.Unlock()
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
	}))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "n.db")
	kills := 0
	for round := 0; ; round++ {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"="+path, childURL+"="+srv.URL)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var kill <-chan time.Time
		if round < killRounds {
			kill = time.After(time.Duration(15+rand.IntN(90)) * time.Millisecond)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("child: %v", err)
			}
		case <-kill:
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				kills++
				continue
			}
		}
		break
	}
	mu.Lock()
	defer mu.Unlock()
	for _, channel := range []string{"single", "grouped"} {
		keyOf, last, twice := map[int64]string{}, map[int64]int64{}, 0
		for _, d := range got[channel] {
			again := false
			for _, n := range d.Notices {
				if k, ok := keyOf[n.ID]; ok {
					again = true
					if k != d.Key {
						t.Errorf("%s: notice %d came under two keys, %s and %s", channel, n.ID, k, d.Key)
					}
					continue
				}
				keyOf[n.ID] = d.Key
				if n.ID < last[n.Incident] {
					t.Errorf("%s: notice %d of incident %d came after %d", channel, n.ID, n.Incident, last[n.Incident])
				}
				last[n.Incident] = n.ID
			}
			if again {
				twice++
			}
		}
		if len(keyOf) != killTotal {
			t.Errorf("%s: %d of %d notices arrived", channel, len(keyOf), killTotal)
		}
		if twice > kills {
			t.Errorf("%s: %d messages came twice after %d kills", channel, twice, kills)
		}
		t.Logf("%s: %d messages, %d of them repeated, %d kills", channel, len(got[channel]), twice, kills)
	}
	texts := map[string]int{}
	for a := range bodies {
		if texts[a.key]++; texts[a.key] > 1 {
			t.Errorf("key %s came with two texts", a.key)
		}
	}
	if kills < 5 {
		t.Errorf("only %d kills: the child ends too early to prove anything", kills)
	}
}
