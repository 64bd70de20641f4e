package promql

import (
	"cmp"
	"slices"
	"strings"
)

// Label is one name of a series with its value.
type Label struct {
	Name  string `json:"n"`
	Value string `json:"v"`
}

// Labels are sorted by name, each name once, none with an empty value: an empty label is
// the same as none.
type Labels []Label

// MakeLabels sorts labels and drops the empty ones.
func MakeLabels(list []Label) Labels {
	out := make(Labels, 0, len(list))
	for _, l := range list {
		if l.Value != "" {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b Label) bool { return a.Name == b.Name })
}

// Get is a label's value, "" when there is none.
func (l Labels) Get(name string) string {
	for i := range l {
		if l[i].Name == name {
			return l[i].Value
		}
	}
	return ""
}

// Key is a text that equal labels have in common and others not.
func (l Labels) Key() string {
	var b strings.Builder
	for i := range l {
		b.WriteString(l[i].Name)
		b.WriteByte(0)
		b.WriteString(l[i].Value)
		b.WriteByte(0)
	}
	return b.String()
}

// only keeps the labels that are named; without drops them.
func (l Labels) only(names []string) Labels {
	return l.filter(func(n string) bool { return slices.Contains(names, n) })
}

func (l Labels) without(names []string) Labels {
	return l.filter(func(n string) bool { return !slices.Contains(names, n) })
}

func (l Labels) filter(keep func(string) bool) Labels {
	out := make(Labels, 0, len(l))
	for _, x := range l {
		if keep(x.Name) {
			out = append(out, x)
		}
	}
	return out
}
