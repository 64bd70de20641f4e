package burn

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

func asError(err error, to **cuda.Error) bool { return errors.As(err, to) }

// A Record is one wrong word of 4 bytes.
type Record struct {
	Offset  uint64    `json:"offset"` // bytes from the start of the tested memory
	Want    uint32    `json:"want"`
	Got     uint32    `json:"got"`     // as the test read it
	Again   uint32    `json:"again"`   // at once, from the cache
	Late    uint32    `json:"late"`    // later, from the memory itself
	Renewed uint32    `json:"renewed"` // after the right value was written once more, from the memory
	Pass    int       `json:"pass"`
	Pattern string    `json:"pattern"`
	Time    time.Time `json:"time"`
	SM      int       `json:"sm"`
	Lane    int       `json:"lane"` // thread of its warp
	Block   int       `json:"block"`
	// Alias is the offset whose value was found here, when there is one.
	Alias *uint64 `json:"alias,omitempty"`
}

// Bits are the wrong bits of the word.
func (r Record) Bits() uint32 { return r.Want ^ r.Got }

// A suspect is a recorded vector while it is examined.
type suspect struct {
	v          uint64 // as the kernel numbered it
	place      uint64 // where it lies: another number for the copy of a block move
	at         cuda.Ptr
	info       passInfo
	want, next [4]uint32
	reads      [4][4]uint32 // got, again, late, renewed
	sm, thread uint32
	block      uint32
	pass       int
	when       time.Time
}

// examine reads the records [from, to) and asks the memory again: once as it stands and
// once after the right value was written, each time with the cache out of the way. In the
// end the vectors hold what the test expects next.
func (t *memtest) examine(from, to int) ([]Record, error) {
	raw := make([]byte, (to-from)*recSize)
	if err := t.ToHost(raw, t.rec+cuda.Ptr(from*recSize)); err != nil {
		return nil, err
	}
	list := make([]suspect, 0, to-from)
	for i := range to - from {
		s, err := t.suspect(raw[i*recSize : (i+1)*recSize])
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if err := t.ask(list, 2); err != nil {
		return nil, err
	}
	if err := t.probe(list, func(s *suspect) *[4]uint32 { return &s.want }, true); err != nil {
		return nil, err
	}
	if err := t.ask(list, 3); err != nil {
		return nil, err
	}
	if err := t.probe(list, func(s *suspect) *[4]uint32 { return &s.next }, true); err != nil {
		return nil, err
	}
	var out []Record
	for i := range list {
		out = append(out, t.words(&list[i])...)
	}
	return out, nil
}

func (t *memtest) suspect(b []byte) (suspect, error) {
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	s := suspect{
		v: binary.LittleEndian.Uint64(b), when: time.Unix(0, int64(binary.LittleEndian.Uint64(b[8:]))).UTC(),
		sm: u32(16), thread: u32(20), block: u32(24), pass: int(u32(28)),
	}
	if s.pass >= len(t.passes) {
		return s, errors.New("read error record: a pass that did not run")
	}
	s.info = t.passes[s.pass]
	for j := range 4 {
		s.reads[0][j], s.reads[1][j] = u32(32+4*j), u32(48+4*j)
	}
	o := s.info.op
	s.want = o.pattern.Vector(s.v)
	for j := range 4 {
		s.next[j] = s.want[j] ^ o.inv
	}
	s.place = s.v
	if o.do == opCheckHalf {
		s.place = t.otherHalf(s.v)
	}
	var err error
	s.at, err = t.locate(s.place)
	return s, err
}

// otherHalf is the vector of the same chunk's other half that belongs to v.
func (t *memtest) otherHalf(v uint64) uint64 {
	for _, c := range t.chunks {
		if half := c.vectors() / 2; v >= c.first && v-c.first < c.vectors() {
			if v-c.first < half {
				return v + half
			}
			return v - half
		}
	}
	return v
}

// ask reads the suspects into reads[slot] from the memory itself. Reading other parts of
// the memory first, several times the cache's size, pushes them out of the cache.
func (t *memtest) ask(list []suspect, slot int) error {
	span := t.mem.Tested / 4 // a quarter of the memory is at least as large as the cache
	if limit := 4 * t.Device.L2; span > limit {
		span = limit
	}
	span = span / vector * vector
	first, last := t.chunks[0], t.chunks[len(t.chunks)-1]
	ends := []cuda.Ptr{last.at + cuda.Ptr(last.bytes-min(span, last.bytes)), first.at}
	for side, from := range ends {
		size := min(span, last.bytes)
		if side == 1 {
			size = min(span, first.bytes)
		}
		var part []int // suspects that are not in what is read to push them out
		for i := range list {
			inside := list[i].at >= ends[0] && list[i].at < ends[0]+cuda.Ptr(min(span, last.bytes))
			if inside == (side == 1) {
				part = append(part, i)
			}
		}
		if len(part) == 0 {
			continue
		}
		if err := t.gpu.read(from, size); err != nil {
			return err
		}
		some := make([]suspect, len(part))
		for k, i := range part {
			some[k] = list[i]
		}
		if err := t.probe(some, func(s *suspect) *[4]uint32 { return &s.reads[slot] }, false); err != nil {
			return err
		}
		for k, i := range part {
			list[i].reads[slot] = some[k].reads[slot]
		}
	}
	return nil
}

// probe reads or writes one vector for each suspect.
func (t *memtest) probe(list []suspect, value func(*suspect) *[4]uint32, write bool) error {
	var addrs, data []byte
	for i := range list {
		addrs = binary.LittleEndian.AppendUint64(addrs, uint64(list[i].at))
		for _, w := range value(&list[i]) {
			data = binary.LittleEndian.AppendUint32(data, w)
		}
	}
	if err := t.ToDevice(t.list, addrs); err != nil {
		return err
	}
	flag := uint32(0)
	if write {
		flag = 1
		if err := t.ToDevice(t.data, data); err != nil {
			return err
		}
	}
	grid := cuda.Shape{Grid: (len(list) + block - 1) / block, Block: block, Stream: t.stream}
	if err := t.probeFn.Launch(grid, t.list, t.data, uint32(len(list)), flag); err != nil {
		return err
	}
	if err := t.stream.Synchronize(); err != nil || write {
		return err
	}
	if err := t.ToHost(data, t.data); err != nil {
		return err
	}
	for i := range list {
		to := value(&list[i])
		for j := range to {
			to[j] = binary.LittleEndian.Uint32(data[i*vector+4*j:])
		}
	}
	return nil
}

// words makes a record of each wrong word of a suspect.
func (t *memtest) words(s *suspect) []Record {
	var out []Record
	alias := t.alias(s)
	for j := range uint64(4) {
		if s.want[j] == s.reads[0][j] {
			continue
		}
		out = append(out, Record{
			Offset: s.place*vector + j*4, Want: s.want[j], Got: s.reads[0][j], Again: s.reads[1][j], Late: s.reads[2][j], Renewed: s.reads[3][j],
			Pass: s.pass, Pattern: s.info.op.pattern.Name, Time: s.when, SM: int(s.sm), Lane: int(s.thread % 32), Block: int(s.block), Alias: alias,
		})
	}
	return out
}

// alias looks for another address whose value was read here: one that differs in a single
// address line, with random data, where chance makes no such match.
func (t *memtest) alias(s *suspect) *uint64 {
	p := s.info.op.pattern
	if p.Kind != kindHash {
		return nil
	}
	n := t.mem.Tested / vector
	for _, q := range []Pattern{p, p.inverted(ones)} {
		for bit := uint64(1); bit < n; bit <<= 1 {
			if other := s.v ^ bit; other < n && q.Vector(other) == s.reads[0] {
				off := other * vector
				return &off
			}
		}
	}
	return nil
}
