package frame

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/golden"
)

// testdata/samples.txt holds lines as nodes and jobs write them, each followed by
// what is left of it. Lines of one block are neighbours.
func TestSamples(t *testing.T) {
	const name = "testdata/samples.txt"
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimRight(string(raw), "\n"), "\n\n") {
		var lines [][]byte
		for line := range strings.SplitSeq(block, "\n") {
			if !strings.HasPrefix(line, "=> ") {
				lines = append(lines, []byte(line))
			}
		}
		for i, line := range lines {
			out.Write(line)
			out.WriteByte('\n')
			msgs := New(Options{}).Frame(Lines{lines, i})
			checkOff(t, line, msgs)
			for _, m := range msgs {
				out.WriteString("=> " + say(m) + "\n")
			}
		}
		out.WriteByte('\n')
	}
	got := strings.TrimSuffix(out.String(), "\n")
	if golden.Updating() {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(raw), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Errorf("%s:%d\n got  %s\n want %s", name, i+1, gotLines[i], wantLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("%s: %d lines, want %d", name, len(gotLines), len(wantLines))
	}
}

// Every row of testdata/line-forms.tsv is a bare kernel message. Under each framing
// it must come out as it went in.
func TestLineForms(t *testing.T) {
	raw, err := os.ReadFile("testdata/line-forms.tsv")
	if err != nil {
		t.Fatal(err)
	}
	framings := []struct {
		before, after string
		origin        Origin
	}{
		{"", "", Unknown},
		{"[ 1234.567890] ", "", Kernel},
		{"[ 1234.567890] [   T431] ", "\r", Kernel},
		{"[Sat Aug 15 13:42:19 2026] ", "", Kernel},
		{"kern  :warn  : [ 1234.567890] ", "", Kernel},
		{"2026-08-30T02:14:10,992151+00:00 ", "", Kernel},
		{"Feb 03 05:03:37 gpu12 kernel: ", "", Kernel},
		{"Feb 03 05:03:37 kernel: ", "", Kernel},
		{"1月 07 03:15:11 gpu12 kernel: ", "", Kernel},
		{"Feb  3 05:03:37 gpu12 kernel: [ 1234.567890] ", "", Kernel},
		{"2025-04-22T18:02:00+0000 gpu12 kernel: ", "", Kernel},
		{"Wed 2026-01-07 03:17:10 UTC gpu12 kernel: ", "", Kernel},
		{"[ 1234.567890] gpu12 kernel: ", "", Kernel},
		{"1767755830.123456 gpu12 kernel: ", "", Kernel},
		{"<4>1 2026-06-23T22:48:32.096039Z gpu12 kernel - - - ", "", Kernel},
		{"4,1234,987654321,-;", "", Kernel},
		{"2026-04-19T09:30:00.07Z stderr F ", "", Unknown},
		{"2026-04-19T09:30:00.07Z stderr F [ 1234.567890] ", "", Kernel},
		{"[pod/name/container] ", "", Unknown},
		{"Feb 03 05:03:37 gpu12 kernel: message repeated 5 times: [ ", "]", Kernel},
		{"\x1b[32m[ 1234.567890] \x1b[0m", "\x1b[0m", Kernel},
		{"> [ 1234.567890] ", "", Kernel},
		{"node12: [ 1234.567890] ", "", Kernel},
		{"kern.log:12:Feb 03 05:03:37 gpu12 kernel: ", "", Kernel},
	}
	rows := 0
	for row := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		f := strings.SplitN(row, "\t", 3)
		if f[0] == "n" {
			continue
		}
		rows++
		text := strings.TrimPrefix(strings.TrimRight(f[2], " "), "[ 1234.567890] ")
		for _, fr := range framings {
			line := []byte(fr.before + text + fr.after)
			got := New(Options{}).Frame(Line(line))
			checkOff(t, line, got)
			if len(got) != 1 || got[0].Text != text || got[0].Origin != fr.origin {
				t.Errorf("row %s, frame %q:\n got  %s\n want %v | %s", f[0], line, say(got[0]), fr.origin, text)
				continue
			}
			if off := bytes.Index(line, []byte(text)); got[0].Off != off {
				t.Errorf("row %s, frame %q: offset %d, want %d", f[0], line, got[0].Off, off)
			}
		}
	}
	if rows != 47 {
		t.Errorf("%d rows, want 47", rows)
	}
}
