package lang

import "testing"

func TestEveryWordInBothLanguages(t *testing.T) {
	for w := Fault; w <= More; w++ {
		for i, name := range []string{"en", "zh"} {
			if words[w][i] == "" {
				t.Errorf("word %d has no text in %s", w, name)
			}
		}
	}
}
