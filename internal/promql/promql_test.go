package promql

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

func minute(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Minute))) }

func labels(pairs ...string) Labels {
	var l []Label
	for i := 0; i+1 < len(pairs); i += 2 {
		l = append(l, Label{pairs[i], pairs[i+1]})
	}
	return MakeLabels(l)
}

// answer writes an answer as one line.
func answer(t *testing.T, m *Memory, e Expr, at time.Time) string {
	t.Helper()
	list, err := Eval(m, e, at)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, s := range list {
		var l []string
		for _, x := range s.Labels {
			l = append(l, x.Name+"="+x.Value)
		}
		out = append(out, fmt.Sprintf("{%s} %.4g", strings.Join(l, ","), s.Value))
	}
	return strings.Join(out, "; ")
}

// feed gives series a sample a minute, for ten minutes.
func feed(m *Memory) {
	for n := range 11 {
		at := minute(float64(n))
		m.Add("used", labels("gpu", "0"), at, float64(n))
		m.Add("used", labels("gpu", "1"), at, 5)
		m.Add("limit", labels("gpu", "0", "kind", "slow"), at, 8)
		m.Add("limit", labels("gpu", "1", "kind", "slow"), at, 8)
		m.Add("total", labels("gpu", "0"), at, 10)
		m.Add("total", labels("gpu", "1"), at, 20)
		if n < 8 {
			m.Add("short", labels("gpu", "0"), at, 1)
		}
		m.Add("reset", labels("gpu", "0"), at, float64(n%6))
		m.End(at)
	}
}

func TestEval(t *testing.T) {
	for _, c := range [][2]string{
		{`used > 8`, `{gpu=0} 10`},
		{`8 < used`, `{gpu=0} 10`},
		{`used{gpu="1"}`, `{gpu=1} 5`},
		{`used{gpu!="1"}`, `{gpu=0} 10`},
		{`used{gpu=~"1|2"}`, `{gpu=1} 5`},
		{`used{gpu!~"1.*"}`, `{gpu=0} 10`},
		{`used{gpu=""}`, ``},
		{`used / total`, `{gpu=0} 1; {gpu=1} 0.25`},
		{`used - 2 * 3`, `{gpu=0} 4; {gpu=1} -1`},
		{`-used + 1`, `{gpu=0} -9; {gpu=1} -4`},
		{`used >= ignoring (kind) limit`, `{gpu=0} 10`},
		{`limit > on (gpu) used`, `{gpu=1} 8`},
		{`used >= limit`, ``},
		{`used < on () group_left () max by () (used)`, `{gpu=1} 5`},
		{`used > 1 and total > 15`, `{gpu=1} 5`},
		{`used > 1 unless total > 15`, `{gpu=0} 10`},
		{`total > 15 or used > 1`, `{gpu=0} 10; {gpu=1} 20`},
		{`used == 5 or used == 10 and total == 20`, `{gpu=1} 5`},
		{`(used == 5 or used == 10) and total == 10`, `{gpu=0} 10`},
		{`short`, ``},
		{`short offset 4m`, `{gpu=0} 1`},
		{`present_over_time(short[5m])`, `{gpu=0} 1`},
		{`present_over_time(short[2m])`, ``},
		{`max_over_time(reset[10m])`, `{gpu=0} 5`},
		{`min_over_time(used[3m])`, `{gpu=0} 8; {gpu=1} 5`},
		{`increase(used[4m])`, `{gpu=0} 4; {gpu=1} 0`},
		{`increase(reset[10m])`, `{gpu=0} 8.889`},
		{`absent(used)`, ``},
		{`absent(nothing{gpu="0", x=~"y"})`, `{gpu=0} 1`},
		{`time() - used`, `{gpu=0} 1.8e+09; {gpu=1} 1.8e+09`},
		{`sum by () (used)`, `{} 15`},
		{`count(used)`, `{} 2`},
		{`min(used)`, `{} 5`},
		{`group by (kind) (limit)`, `{kind=slow} 1`},
		{`1 + 1`, `{} 2`},
		{`used != 5 # ten`, `{gpu=0} 10`},
	} {
		e, err := Parse(c[0])
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		m := NewMemory(e)
		feed(m)
		if got := answer(t, m, e, minute(10)); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

func TestErrors(t *testing.T) {
	for _, bad := range []string{
		``, `used >`, `(used`, `used)`, `used{gpu}`, `used{gpu="0"`, `used{gpu=~"("}`, `used[5m]`, `used[5m] > 1`, `rate(used[5m])`,
		`increase(used)`, `absent(used[5m])`, `used[5]`, `used offset`, `sum without (gpu) (used)`, `used > on (gpu) group_right () total`,
		`used > on (gpu) group_left (x) total`, `used and on (gpu) group_left () total`, `"text"`, `used ? 1`, `used{gpu="0}`, `time(1)`, `or`,
		`max by (gpu) (used[5m])`, `-used[5m]`, `used[1x]`, strings.Repeat("(", 2000),
	} {
		if e, err := Parse(bad); err == nil {
			t.Errorf("%s is read as %+v", bad, e)
		}
	}
	for _, bad := range []string{`1 and used`, `1 > 2`, `max(1)`, `used > on () total`, `limit > ignoring (gpu) limit`} {
		e, err := Parse(bad)
		if err != nil {
			t.Errorf("%s: %v", bad, err)
			continue
		}
		m := NewMemory(e)
		feed(m)
		if list, err := Eval(m, e, minute(10)); err == nil {
			t.Errorf("%s answers %v", bad, list)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"15m": 15 * time.Minute, "1h30m": 90 * time.Minute, "1d": 24 * time.Hour, "0": 0, "5ms": 5 * time.Millisecond} {
		if d, err := ParseDuration(text); err != nil || d != want {
			t.Errorf("%s: %s %v", text, d, err)
		}
	}
	for _, bad := range []string{"", "5", "m", "5x", "-5m", "1h 5m", "99999999y", "9999y"} {
		if d, err := ParseDuration(bad); err == nil {
			t.Errorf("%q: %s", bad, d)
		}
	}
}

// TestMemoryIsSmall: a day of a state costs a run, and what no expression needs is not
// kept at all.
func TestMemoryIsSmall(t *testing.T) {
	day, err := Parse(`max_over_time(used[1d]) == 1 and now > 0`)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMemory(day)
	l := labels("gpu", "0")
	at := start
	for range 2 * 24 * 60 * 4 {
		at = at.Add(15 * time.Second)
		m.Add("used", l, at, 1)
		m.Add("now", l, at, float64(at.Unix()))
		m.Add("other", l, at, 1)
		m.End(at)
	}
	if n := len(m.families["used"].series[l.Key()].runs); n != 1 {
		t.Errorf("%d runs of equal samples", n)
	}
	if n := len(m.families["now"].series[l.Key()].runs); n != 1 {
		t.Errorf("%d runs where the last sample is enough", n)
	}
	if m.Wants("other") || len(m.families) != 2 {
		t.Error("what nobody asks for is kept")
	}
	for range 25 * 60 * 4 {
		at = at.Add(15 * time.Second)
		m.End(at)
	}
	if n := len(m.families["used"].series); n != 0 {
		t.Errorf("%d series are kept a day after they ended", n)
	}
}

// TestRestore: answers that look back are the same after a restart.
func TestRestore(t *testing.T) {
	var list []Expr
	for _, x := range []string{`increase(used[10m])`, `max_over_time(reset[8m])`, `present_over_time(short[4m])`, `used offset 3m`, `increase(reset[9m])`} {
		e, err := Parse(x)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	before := NewMemory(list...)
	feed(before)
	text, err := before.Save()
	if err != nil {
		t.Fatal(err)
	}
	after := NewMemory(list...)
	if err := after.Restore(text); err != nil {
		t.Fatal(err)
	}
	if !after.Last().Equal(before.Last()) {
		t.Errorf("last sample %s, was %s", after.Last(), before.Last())
	}
	for n, e := range list {
		if a, b := answer(t, before, e, minute(10)), answer(t, after, e, minute(10)); a != b {
			t.Errorf("%d: %s, was %s", n, b, a)
		}
	}
	for _, bad := range []string{"{", `[{"m":"used","l":[],"r":[[5,-1,1,1]]}]`, `[{"m":"used","r":[[1,9,3,1],[5,0,1,1]]}]`, `[{"m":"used","r":[[1,0,0,1]]}]`, `[{"m":"used","r":[[1,0,9,1]]}]`} {
		if err := NewMemory(list...).Restore([]byte(bad)); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
}

// TestClockSetBack: spans stay spans.
func TestClockSetBack(t *testing.T) {
	e, err := Parse(`increase(used[4m])`)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMemory(e)
	feed(m)
	m.Back(time.Hour)
	m.Add("used", labels("gpu", "0"), minute(11-60), 13)
	if got := answer(t, m, e, minute(11-60)); got != `{gpu=0} 6.667; {gpu=1} 0` {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`increase(a{b=~"c|d", e!="f"}[1h]) > 10 or a offset 5m / ignoring (x) b unless on (y) max by (z) (c)`, `-1 * time()`, `absent(x)`, "'\\'\"'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Parse(s)
		if err != nil {
			return
		}
		m := NewMemory(e)
		for _, name := range m.Names() {
			m.Add(name, labels("a", "b"), start, 1)
			m.Add(name, labels("a", "c"), start, 2)
		}
		_, _ = Eval(m, e, start)
	})
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte(`[{"m":"used","l":[{"n":"gpu","v":"0"}],"r":[[1000,3000,4,1],[5000,0,1,2]],"g":[6000]}]`))
	e, err := Parse(`increase(used[5m]) + used offset 1m`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := NewMemory(e)
		if m.Restore(text) != nil {
			return
		}
		at := m.Last().Add(time.Second)
		m.Add("used", labels("gpu", "0"), at, 3)
		m.End(at)
		_, _ = Eval(m, e, at)
		_, _ = m.Save() // NaN has no JSON, which is an error and no panic
	})
}
