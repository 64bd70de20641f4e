package decode

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// head strips what the matcher strips, so that these tests hold without internal/scan.
var head = regexp.MustCompile(`^NVRM: (?:GPU\d+ )?Xid \((?:PCI:)?([^)]*)\): (\d+|%d)(?:,? pid=(\d+|'?<unknown>'?)(?:, name=(.*?))?(?:,|$))?,?\s*(.*)$`)

func xidSignal(t *testing.T, line string) *gpumedic.Signal {
	t.Helper()
	m := head.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("no Xid line: %q", line)
	}
	return &gpumedic.Signal{Kind: "xid." + m[2], Fields: map[string]string{"code": m[2], "text": m[5]}}
}

func decodeXid(t *testing.T, line string) *gpumedic.Signal {
	t.Helper()
	s := xidSignal(t, line)
	New(catalog.Tables()).Decode("xid", s)
	return s
}

// want is "field=value field=value"; "-field" wants it absent; "level=fact" the level.
func check(t *testing.T, s *gpumedic.Signal, line, want string) {
	t.Helper()
	for w := range strings.FieldsSeq(want) {
		k, v, _ := strings.Cut(w, "=")
		v = strings.ReplaceAll(v, "~", " ")
		got := s.Fields[k]
		if name, ok := strings.CutPrefix(k, "-"); ok {
			if g, there := s.Fields[name]; there {
				t.Errorf("%s\n  field %s is %q, want none", line, name, g)
			}
			continue
		}
		switch k {
		case "level":
			got = s.Level.String()
		case "subject.link":
			got = s.Subject.Link
		}
		if got != v {
			t.Errorf("%s\n  %s is %q, want %q\n  all: %v", line, k, got, v, s.Fields)
		}
	}
}

func TestLinesOfOtherTools(t *testing.T) {
	b, err := os.ReadFile("testdata/xid-lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	undecoded := map[string]string{}
	n := 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") {
		n++
		s := decodeXid(t, line)
		code := s.Fields["code"]
		if code != "%d" && code != "99999" && (s.Fields["catalogued"] != "yes" || s.Fields["action"] == "") {
			t.Errorf("%s\n  fields %v", line, s.Fields)
		}
		if slices.Contains([]string{"144", "145", "146", "147", "148", "149", "150"}, code) && s.Fields["decoded"] != "yes" {
			undecoded[line] = s.Fields["decoded"]
		}
		if strings.Contains(line, "Link ") && s.Fields["link"] == "" && !strings.Contains(line, "%s") {
			t.Errorf("%s\n  no link", line)
		}
	}
	if n != 95 {
		t.Errorf("read %d lines, want 95", n)
	}
	for l, d := range undecoded {
		t.Logf("not decoded (%s): %s", d, l)
	}
}
