package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// distance is the number of slips between two words: a letter too many, too few, wrong,
// or two letters changed round. More than limit is limit+1.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			least = min(least, cur[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}

// nearest is the word that is fewest slips away, "" when none is within limit or a
// short word would match nearly anything. Equal ones: the first.
func nearest(s string, words []string, limit int) string {
	best, least := "", min(limit, len(s)/3)+1
	for _, w := range words {
		if d := distance(s, w, least-1); d < least {
			best, least = w, d
		}
	}
	return best
}

// sameWords: the parts of a name in another order, or with other underlines.
func sameWords(a, b string) bool {
	if strings.ReplaceAll(a, "_", "") == strings.ReplaceAll(b, "_", "") {
		return true
	}
	x, y := strings.Split(a, "_"), strings.Split(b, "_")
	if len(x) != len(y) {
		return false
	}
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// unknown looks whether a name that nobody reads was meant to be another.
func (j *judge) unknown(s *Setting) {
	if len(s.Name) < 7 {
		return
	}
	p, owned := j.env.Prefix(s.Name)
	near, sure := j.near(s.Name, owned)
	switch {
	case near != "":
		level := LevelWarning
		if !sure && !p.Complete {
			level = LevelNotice
		}
		who := p.Component
		if n := j.env.Names[near]; n != nil {
			who = n.Component
		} else if q := j.pages[near]; q != nil {
			who = q.Component
		}
		f := j.found(s, level, "unknown", fmt.Sprintf(j.pick("%s reads no variable of this name: did you mean %s?", "%s 没有这个变量：是否想写 %s？"), who, near), nil)
		f.Sources = j.sourcesOf(near)
		if q := j.pages[near]; q != nil && q.Status != "valid" {
			f.Do = j.pick("it has done nothing so far, and that one is for diagnosis only or old: better remove the line.", "此行一直没起作用，而正确的那个只供诊断或已过时：删除更好。")
		} else {
			f.Instead = near
		}
	case owned && p.Complete:
		j.found(s, LevelNotice, "unknown", fmt.Sprintf(j.pick("No release of %s known here reads it; a plugin or a build of one's own may.", "已知的 %s 版本都不读取它；插件或自编译版本可能会。"), p.Component), p.Sources)
	}
}

func (j *judge) sourcesOf(name string) []string {
	if p := j.pages[name]; p != nil {
		return p.Sources
	}
	if n := j.env.Names[name]; n != nil {
		return n.Sources
	}
	return nil
}

// near is the known name that is one or two slips away. sure: hardly anything else can
// be meant.
func (j *judge) near(name string, owned bool) (string, bool) {
	if up := strings.ToUpper(name); up != name && j.pages[up] != nil {
		return up, true
	}
	if j.pages["TORCH_"+name] != nil {
		return "TORCH_" + name, true
	}
	if len(name) < 9 {
		return "", false
	}
	for _, n := range j.names {
		if len(n) == len(name) || strings.Contains(n, "_") && strings.ReplaceAll(n, "_", "") == strings.ReplaceAll(name, "_", "") {
			if sameWords(n, name) {
				return n, true
			}
		}
	}
	limit := 2
	if !owned || len(name) < 13 {
		limit = 1
	}
	names := j.names
	if owned { // a slip in the middle leaves the beginning alone
		p, _ := j.env.Prefix(name)
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
			q, _ := j.env.Prefix(n)
			return q.Component != p.Component
		})
	}
	n := nearest(name, names, limit)
	if n == "" || onlyDigits(name, n) {
		return "", false
	}
	page := j.pages[n] != nil
	if !owned && (!page || otherCCL.MatchString(name)) {
		return "", false
	}
	return n, page && distance(name, n, 1) == 1
}

// otherCCL are the collective libraries of other makers, whose variables look like NCCL's.
var otherCCL = lazyre.New(`^[A-Z]{1,2}CCL_`)

// onlyDigits: names that differ in a number are two names, not a slip.
func onlyDigits(a, b string) bool {
	strip := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	return strip(a) == strip(b)
}
