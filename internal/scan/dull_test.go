package scan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpumedic/gpumedic/internal/frame"
)

// texts are the cases of the catalog and what the tests of framing read.
func texts(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, pattern := range []string{"../../catalog/faults/*/cases/*", "../frame/testdata/*", "../../examples/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil {
				all = append(all, b)
			}
		}
	}
	return all
}

// rowsAround is a row among others, as a framer sees it.
type rowsAround struct {
	rows [][]byte
	at   int
}

func (a rowsAround) Line(delta int) ([]byte, bool) {
	if i := a.at + delta; i >= 0 && i < len(a.rows) {
		return a.rows[i], true
	}
	return nil, false
}

// checkVerbatim wants the messages of a verbatim row to stand in it as they are.
func checkVerbatim(t *testing.T, fr *frame.Framer, rows [][]byte) (verbatims int) {
	t.Helper()
	for i, row := range rows {
		row = trimEOL(row)
		if !verbatim(row) {
			continue
		}
		verbatims++
		for _, m := range fr.Frame(rowsAround{rows, i}) {
			if !bytes.Contains(row, []byte(m.Text)) {
				t.Errorf("verbatim row %q gives message %q", row, m.Text)
			}
		}
	}
	return verbatims
}

func TestVerbatimRows(t *testing.T) {
	fr := frame.New(frame.Options{})
	n, all := 0, 0
	for _, text := range texts(t) {
		rows := bytes.Split(text, []byte("\n"))
		n += checkVerbatim(t, fr, rows)
		all += len(rows)
	}
	if n*2 < all {
		t.Errorf("%d of %d rows are verbatim", n, all)
	}
}

func FuzzVerbatim(f *testing.F) {
	for _, s := range []string{"[ 1.5] NVRM: a NVRM: b", `{"log":"x y","time":"2026-08-17T16:02:09Z"}`, "a,\"b c\",d", "1:1:1:1:1:x\n2:1:",
		"2026-04-19T09:30:00.1Z stdout P a\n2026-04-19T09:30:00.1Z stdout F b", "Feb 3 05:03:37 g kernel: message repeated 4 times: [ x ]", "`NVRM: x`"} {
		f.Add([]byte(s))
	}
	fr := frame.New(frame.Options{})
	f.Fuzz(func(t *testing.T, text []byte) {
		rows := bytes.Split(text, []byte("\n"))
		checkVerbatim(t, fr, rows[:min(len(rows), 32)])
	})
}

// TestDullRowsGiveNothing: no signal comes of a row that is taken for dull, however long
// the input goes on.
func TestDullRowsGiveNothing(t *testing.T) {
	s, _ := embedded(t)
	slow, _ := embedded(t)
	slow.frameAll = true
	var b strings.Builder
	for i := range 2 * firstDull { // until dull rows are no longer framed
		fmt.Fprintf(&b, "2026-02-11 12:46:13,%03d INFO dataset.py:86: prefetch queue %d/64, worker 14\n", i%1000, i%64)
	}
	for _, text := range texts(t) {
		b.Write(text)
		b.WriteString("\n")
	}
	fast, all := scanText(t, s, b.String(), Options{}), scanText(t, slow, b.String(), Options{})
	if d := cmp.Diff(brief(all.Signals), brief(fast.Signals)); d != "" {
		t.Errorf("dull rows left out (+): %s", d)
	}
	if len(all.Signals) < 200 {
		t.Errorf("%d signals only", len(all.Signals))
	}
}

// TestOrdinaryRowsAreDull: of ordinary logs few rows are framed.
func TestOrdinaryRowsAreDull(t *testing.T) {
	s, _ := embedded(t)
	for _, row := range []string{
		"Feb 11 12:46:13 gpu-n019 kernel: [813300.018000] Lustre: scratch-OST6769-osc: Connection restored to 10.2.109.72@o2ib (at 10.0.231.56@o2ib)",
		"2026-02-11 12:46:13,527 INFO dataset.py:867: prefetch queue 15/64, worker 14, sample 30268548, bucket s3://corpus/shards/6f5a7e.tar",
		"2026-02-11 12:46:13,701 INFO tokenizer.py:88 encoded document 92903947 into 6490 tokens, 56 unknown",
		"wandb: uploading history steps 1221-8881, summary, console lines 9922-8082",
		"Feb 11 12:35:00 n kernel: [813300.568000] audit: type=1400 audit(1770813300.234:56792): apparmor=\"DENIED\" operation=\"open\" name=\"/proc/1/cmdline\"",
	} {
		x := newExaminer(s, nil)
		if hits := s.search.Find(nil, []byte(row)); len(hits) > 0 && !x.dull([]byte(row), hits) {
			t.Errorf("not dull: %s", row)
		}
	}
}

// TestOrdinaryLogsAreDull: of what bench/gen makes of ordinary lines, few rows are more
// than candidates. A literal that is common in logs shows here.
func TestOrdinaryLogsAreDull(t *testing.T) {
	s, _ := embedded(t)
	x := newExaminer(s, nil)
	fill := strings.NewReplacer("{syslog}", "Feb 11 12:35:00 gpu-n019", "{dmesg}", "[813300.490000]", "{iso}", "2026-02-11T12:35:00.490000Z",
		"{time}", "2026-02-11 12:35:00,490", "{klog}", "0211 12:35:00.490000", "{ip}", "10.2.66.34", "{mac}", "02:42:fe:97:d2:c6", "{loss}", "7.0138",
		"{user}", "ops", "{node}", "gpu-n019", "{uuid}", "8f1c2a34-77aa-4b1c-9d2e-0123456789ab", "{open}", "{", `\t`, "\t")
	hole := regexp.MustCompile(`\{\w+(?::\d+)?\}`)
	for _, c := range []struct {
		file string
		most int // percent
	}{{"kernel", 9}, {"train", 40}} { // a firewall's drops; the steps, which are read
		b, err := os.ReadFile("../../bench/gen/" + c.file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		rows, kept := 0, 0
		for line := range strings.SplitSeq(string(b), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			weight := 1
			if n, rest, ok := strings.Cut(line, "\t"); ok {
				if k, err := strconv.Atoi(n); err == nil {
					weight, line = k, rest
				}
			}
			row := []byte(hole.ReplaceAllString(fill.Replace(line), "417"))
			rows += weight
			if hits := s.search.Find(nil, row); len(hits) > 0 && !x.dull(row, hits) {
				kept += weight
				t.Logf("%s: %d times %s", c.file, weight, row)
			}
		}
		if kept*100 > rows*c.most {
			t.Errorf("%s: %d of %d rows are framed, want %d %% at most", c.file, kept, rows, c.most)
		}
	}
}
