package frame

import (
	"sort"
	"time"

	"github.com/gpumedic/gpumedic"
)

// Clock gathers the stamps of one input and fills in what single lines lack:
//
//   - no wall clock, only seconds since boot: the difference between the two on
//     lines that state both is the boot's offset. An input may hold several boots,
//     and several copies of one (dmesg and the journal in one bug report).
//   - no year: a full stamp nearby gives it, and it goes up where December turns
//     into January.
//   - no zone: taken as UTC already, and marked so.
//
// First Observe every stamp in the order of lines, then ResolveAt. A Clock belongs to
// one goroutine.
type Clock struct {
	boots []boot
	// exact finds the boot of a record that was seen elsewhere with a wall clock:
	// two boots do not share a time since boot to the microsecond.
	exact map[time.Duration]int
	years yearline
}

// boot is a run of lines in which time since boot does not go back.
type boot struct {
	first, last int // lines
	lastMono    time.Duration
	pairs       []pair // ordered by mono
	stride      int    // keep each stride-th pair
	skipped     int
	monos       []time.Duration // of records without a wall clock, to recognise the boot by
}

// pair is a line with both clocks.
type pair struct {
	mono time.Duration
	wall gpumedic.Stamp
	line int
}

const (
	maxPairs = 256 // per boot
	maxMonos = 256 // per boot without pairs
	maxBoots = 4096
	maxExact = 1 << 15
	// monoSlack is how far records of different processors may be out of order.
	monoSlack = 2 * time.Second
	// bootDelay bounds how long a logger may lag behind the kernel.
	bootDelay = 2 * time.Minute
)

// Observe notes the stamp of a line.
func (c *Clock) Observe(line int, s gpumedic.Stamp) {
	if s.Known() && s.Assumed&gpumedic.AssumedBoot == 0 {
		c.years.observe(line, s)
	}
	if s.HasMono {
		c.observeMono(line, s)
	}
}

func (c *Clock) observeMono(line int, s gpumedic.Stamp) {
	k := len(c.boots) - 1
	if k < 0 || s.Mono < c.boots[k].lastMono-monoSlack && len(c.boots) < maxBoots {
		c.boots = append(c.boots, boot{first: line, stride: 1})
		k++
	}
	b := &c.boots[k]
	b.last, b.lastMono = line, s.Mono
	if s.Known() && s.Assumed&gpumedic.AssumedBoot == 0 {
		b.add(pair{s.Mono, s, line})
		if c.exact == nil {
			c.exact = map[time.Duration]int{}
		}
		if len(c.exact) < maxExact && s.Mono%time.Millisecond != 0 {
			c.exact[s.Mono] = k
		}
		return
	}
	if len(b.monos) < maxMonos && s.Mono%time.Millisecond != 0 {
		b.monos = append(b.monos, s.Mono)
	}
}

// add keeps a pair; when there are too many, every second one goes.
func (b *boot) add(p pair) {
	if b.skipped++; b.skipped < b.stride && len(b.pairs) > 0 {
		return
	}
	b.skipped = 0
	if len(b.pairs) == maxPairs {
		kept := b.pairs[:0]
		for i := 0; i < maxPairs; i += 2 {
			kept = append(kept, b.pairs[i])
		}
		b.pairs = kept
		b.stride *= 2
	}
	i := sort.Search(len(b.pairs), func(i int) bool { return b.pairs[i].mono > p.mono })
	b.pairs = append(b.pairs, pair{})
	copy(b.pairs[i+1:], b.pairs[i:])
	b.pairs[i] = p
}

// ResolveAt fills in the stamp of a line. What the input does not tell stays open:
// a wall clock without any year keeps year 0, time since boot without a pair stays
// time since boot.
func (c *Clock) ResolveAt(line int, s gpumedic.Stamp) gpumedic.Stamp {
	if s.Known() {
		return c.years.resolve(line, s)
	}
	if !s.HasMono {
		return s
	}
	k := c.bootOf(line, s.Mono)
	if k < 0 {
		return s
	}
	off, near := c.offset(&c.boots[k], s.Mono)
	s.Time = off.Add(s.Mono)
	s.Precision = max(s.Precision, near.wall.Precision)
	s.Assumed |= gpumedic.AssumedBoot | near.wall.Assumed
	return s
}

// bootOf chooses the boot with pairs to which a time since boot belongs, -1 when
// the input does not tell.
func (c *Clock) bootOf(line int, mono time.Duration) int {
	if k, ok := c.exact[mono]; ok {
		return k
	}
	k := sort.Search(len(c.boots), func(i int) bool { return c.boots[i].last >= line })
	if k < len(c.boots) && c.boots[k].first <= line {
		if len(c.boots[k].pairs) > 0 {
			return k
		}
		for _, m := range c.boots[k].monos {
			if t, ok := c.exact[m]; ok {
				return t
			}
		}
	}
	only := -1
	for i := range c.boots {
		if len(c.boots[i].pairs) == 0 {
			continue
		}
		if only >= 0 && !c.sameBoot(only, i) {
			return -1
		}
		only = i
	}
	return only
}

// sameBoot reports whether two runs of lines are copies of one boot: their offsets
// agree but for the lag of loggers.
func (c *Clock) sameBoot(i, j int) bool {
	a, _ := c.offset(&c.boots[i], 0)
	b, _ := c.offset(&c.boots[j], 0)
	return a.Sub(b).Abs() < bootDelay
}

// offset is the wall clock at mono 0, by the pair nearest to mono. Loggers lag, and
// those that start late write the whole boot at one time, so of the pairs that
// follow soon the smallest difference counts.
func (c *Clock) offset(b *boot, mono time.Duration) (time.Time, pair) {
	i := sort.Search(len(b.pairs), func(i int) bool { return b.pairs[i].mono >= mono })
	if i == len(b.pairs) || i > 0 && mono-b.pairs[i-1].mono < b.pairs[i].mono-mono {
		i--
	}
	near := b.pairs[i]
	best := c.wall(near).Add(-near.mono)
	for j := i + 1; j < len(b.pairs) && b.pairs[j].mono-near.mono < bootDelay; j++ {
		if t := c.wall(b.pairs[j]).Add(-b.pairs[j].mono); t.Before(best) {
			best = t
		}
	}
	return best, near
}

func (c *Clock) wall(p pair) time.Time { return c.years.resolve(p.line, p.wall).Time }
