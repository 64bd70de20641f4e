package literal

import (
	"bytes"
	"slices"
	"sync"
)

// New builds a searcher. An empty literal never occurs.
func New(lits []Literal) Searcher { return build(lits, vectors) }

// Classes of short literals: the loops in Go take fewer places, the kernel all.
var (
	teddyClass    = class{3, 1}
	scalarClasses = []class{{3, 2}, {3, 1}, {2, 1}, {1, 1}}
	vectorClasses = []class{teddyClass, {2, 1}, {1, 1}}
)

type entry struct {
	text []byte // lower case when fold
	fold bool
}

// pass finds the literals of some class, nearly in order.
type pass interface {
	find(dst []Hit, block []byte, lits []entry) []Hit
}

// multi is a searcher of several passes.
type multi struct {
	of     []Literal
	lits   []entry
	passes []pass
	spare  sync.Pool // of *[]Hit, for merging
}

// build sorts literals into classes; tests ask for either way of probing.
func build(lits []Literal, vectors bool) *multi {
	m := &multi{of: lits, lits: make([]entry, len(lits))}
	classes := scalarClasses
	if vectors {
		classes = vectorClasses
	}
	var wide, long []int32
	ids := make([][]int32, len(classes))
	for i, l := range lits {
		m.lits[i] = entry{text: []byte(l.Text), fold: l.Fold}
		if l.Fold {
			m.lits[i].text = lower(m.lits[i].text)
		}
		switch n := len(l.Text); {
		case wideClass.fits(n):
			wide = append(wide, int32(i))
		case longClass.fits(n):
			long = append(long, int32(i))
		case n > 0:
			c := slices.IndexFunc(classes, func(c class) bool { return c.fits(n) })
			ids[c] = append(ids[c], int32(i))
		}
	}
	if len(wide)+len(long) > 0 {
		m.passes = append(m.passes, newStride(m.lits, wide, long, vectors && gathers))
	}
	for c, cl := range classes {
		if len(ids[c]) > 0 {
			m.passes = append(m.passes, newShort(cl, m.lits, ids[c], vectors))
		}
	}
	return m
}

// Find implements Searcher.
func (m *multi) Find(dst []Hit, block []byte) []Hit {
	start := len(dst)
	for _, p := range m.passes {
		mid := len(dst)
		dst = p.find(dst, block, m.lits)
		settle(dst[mid:])
		if mid > start && mid < len(dst) {
			m.merge(dst[start:], mid-start)
		}
	}
	return dst
}

// settle sorts what one pass found. It finds in the order of windows, so that a hit is
// out of place by no more than the hits around it.
func settle(hits []Hit) {
	for i := 1; i < len(hits); i++ {
		h, j := hits[i], i
		for ; j > 0 && compareHits(hits[j-1], h) > 0; j-- {
			hits[j] = hits[j-1]
		}
		hits[j] = h
	}
}

// merge makes one sorted list of the two that are hits[:mid] and hits[mid:].
func (m *multi) merge(hits []Hit, mid int) {
	buf, _ := m.spare.Get().(*[]Hit)
	if buf == nil {
		buf = new([]Hit)
	}
	second := append((*buf)[:0], hits[mid:]...)
	i, j := mid-1, len(second)-1
	for at := len(hits) - 1; j >= 0; at-- {
		if i >= 0 && compareHits(hits[i], second[j]) > 0 {
			hits[at] = hits[i]
			i--
		} else {
			hits[at] = second[j]
			j--
		}
	}
	*buf = second[:0]
	m.spare.Put(buf)
}

// at reports whether b begins with the literal.
func (e *entry) at(b []byte) bool {
	if len(b) < len(e.text) {
		return false
	}
	if !e.fold {
		return bytes.Equal(b[:len(e.text)], e.text)
	}
	for i, c := range e.text {
		d := b[i]
		if d >= 'A' && d <= 'Z' {
			d += 0x20
		}
		if c != d {
			return false
		}
	}
	return true
}
