package lazyre

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The methods say what those of the standard library say.
func TestSameAsRegexp(t *testing.T) {
	const expr, text = `(?P<key>\w+)=(\d*)`, "a=1 b=22, c= d"
	lazy, plain := New(expr), regexp.MustCompile(expr)
	for name, got := range map[string][2]any{
		"Match":                   {lazy.Match([]byte(text)), plain.Match([]byte(text))},
		"MatchString":             {lazy.MatchString("x"), plain.MatchString("x")},
		"FindString":              {lazy.FindString(text), plain.FindString(text)},
		"FindStringIndex":         {lazy.FindStringIndex(text), plain.FindStringIndex(text)},
		"FindStringSubmatch":      {lazy.FindStringSubmatch(text), plain.FindStringSubmatch(text)},
		"FindStringSubmatchIndex": {lazy.FindStringSubmatchIndex(text), plain.FindStringSubmatchIndex(text)},
		"FindAllString":           {lazy.FindAllString(text, 2), plain.FindAllString(text, 2)},
		"FindAllStringSubmatch":   {lazy.FindAllStringSubmatch(text, -1), plain.FindAllStringSubmatch(text, -1)},
		"ReplaceAllString":        {lazy.ReplaceAllString(text, "$2"), plain.ReplaceAllString(text, "$2")},
		"SubexpNames":             {lazy.SubexpNames(), plain.SubexpNames()},
		"Split":                   {lazy.Split(text, -1), plain.Split(text, -1)},
	} {
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A wrong expression does not wait for its first user while tests run.
func TestWrongExpression(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for a wrong expression")
		}
	}()
	New(`(`)
}
