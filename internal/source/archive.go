package source

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"unicode"
)

// limits bound an archive, which nobody vouches for.
type limits struct {
	entries int   // that are read
	total   int64 // bytes of all entries
	floor   int64 // bytes that an archive may unpack to whatever its size
	ratio   int64 // bytes of entries for each byte of the archive, above the floor
	depth   int   // an archive in an archive is 2
	nested  int   // archives in one archive
	dir     int64 // size of the directory of a zip
	spool   int64 // size of a zip that must be copied
}

// archiveLimits are far above what people collect for an incident.
var archiveLimits = limits{
	entries: 20_000, total: 1 << 40, floor: bombFloor, ratio: maxRatio,
	depth: 2, nested: 64, dir: 4 << 20, spool: maxSpool,
}

// archive is a tar or zip. Nothing of it is ever written to disk under a name from
// it: entries are read where they are, and their paths serve as names only.
type archive struct {
	path  string
	node  string
	depth int   // 1 for one that the user named
	tail  int   // parts of path below the one that the user named
	size  int64 // packed
	lim   *limits
	open  func() (io.ReadCloser, error) // its bytes, from the start, any number of times
	file  *os.File                      // the same when it lies in a file as it is
}

// inputs lists the entries: one input for each that may hold text.
func (a *archive) inputs(what content) []Input {
	rc, err := a.open()
	if err != nil {
		return []Input{broken(a.path, a.node, pathProblem(err))}
	}
	defer rc.Close()
	l, _ := peel(rc)
	defer l.close()
	return a.list(l, what, rc)
}

// list is inputs for a stream that is open already; raw is what l reads, if it can
// be skipped through.
func (a *archive) list(l *layers, what content, raw io.Reader) []Input {
	s := &shelf{a: a, seen: map[string]int{}}
	if what == contentZip {
		s.zip(l)
	} else {
		s.tar(l, raw)
	}
	return s.finish()
}

// shelf collects the entries of an archive while it is listed.
type shelf struct {
	a       *archive
	ins     []Input
	total   int64
	entries int
	nested  int
	binary  []string // left out for want of text
	escapes []string // names that lead out of the archive
	special map[string]int
	notes   []string // what kept something from being read
	seen    map[string]int
}

// room reports whether an entry of so many bytes is still within the limits.
func (s *shelf) room(size int64) bool {
	lim := s.a.lim
	switch {
	case s.entries >= lim.entries:
		s.note("only the first %d entries of %s were taken: unpack it and name a smaller folder", lim.entries, s.base())
	case size < 0 || size > lim.total-s.total:
		s.note("%s unpacks to more than %s: the rest was left out", s.base(), byteSize(lim.total))
	case s.total+size > lim.floor && (s.total+size)/lim.ratio > s.a.size:
		s.note("%s unpacks to more than %d times its size, as no log does: the rest was left out", s.base(), lim.ratio)
	default:
		s.entries++
		s.total += size
		return true
	}
	return false
}

func (s *shelf) base() string { return path.Base(s.a.path) }

func (s *shelf) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	for _, old := range s.notes {
		if old == n {
			return
		}
	}
	s.notes = append(s.notes, n)
}

// skip counts what is no file: a link, a device.
func (s *shelf) skip(what string) {
	if s.special == nil {
		s.special = map[string]int{}
	}
	s.special[what]++
}

// add takes an entry. r is its content now, open gives it again later.
func (s *shelf) add(raw string, r io.Reader, open func() (io.ReadCloser, error)) {
	name := s.name(raw)
	full := s.a.path + "/" + name
	tail := s.a.tail + strings.Count(name, "/") + 1
	br := bufio.NewReaderSize(r, 4096)
	head, _ := br.Peek(4096)
	what := contentText
	if mayHoldArchive(head) {
		var l *layers
		l, what = peel(br)
		defer l.close()
		if what == contentTar || what == contentZip {
			s.inner(full, tail, l, what, open)
			return
		}
	} else if form, _ := packedForm(head); form == "" && len(head) > 0 && looksBinary(head) && !isFlight(head) {
		what = contentOther
	}
	if what == contentOther {
		s.binary = append(s.binary, name)
		return
	}
	s.ins = append(s.ins, Input{
		Name: full, Path: full, Node: s.a.node, Hint: HintOf(full), open: open, tail: tail,
	})
}

// inner takes an archive inside of this one apart.
func (s *shelf) inner(full string, tail int, l *layers, what content, open func() (io.ReadCloser, error)) {
	switch {
	case s.a.depth >= s.a.lim.depth:
		in := broken(full, s.a.node, "is an archive inside of an archive inside of another: unpack it first")
		in.tail = tail
		s.ins = append(s.ins, in)
		return
	case s.nested >= s.a.lim.nested:
		s.note("only the first %d archives inside of %s were taken apart", s.a.lim.nested, s.base())
		return
	}
	s.nested++
	sub := &archive{path: full, node: s.a.node, depth: s.a.depth + 1, tail: tail, size: s.a.size, lim: s.a.lim, open: open}
	s.ins = append(s.ins, sub.list(l, what, nil)...)
}

// name makes a name of an entry that is safe to show, and notes one that would have
// led elsewhere had anyone written it to disk.
func (s *shelf) name(raw string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, raw)
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			s.escapes = append(s.escapes, name)
			break
		}
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		name = "unnamed"
	}
	if len(name) > 500 {
		name = strings.ToValidUTF8(name[:200], "") + "…" + strings.ToValidUTF8(name[len(name)-200:], "")
	}
	s.seen[name]++
	if n := s.seen[name]; n > 1 {
		name = fmt.Sprintf("%s#%d", name, n)
	}
	return name
}

// finish hangs the notes on the first entry, or makes the archive a broken input.
func (s *shelf) finish() []Input {
	var mild []string
	if len(s.binary) > 0 {
		mild = append(mild, leftOut(s.binary)+" without text in "+s.base()+someOf(s.binary))
	}
	for _, what := range []string{"devices and pipes", "sparse files"} {
		if n := s.special[what]; n > 0 {
			s.note("%s holds %s, which were left out (%d)", s.base(), what, n)
		}
	}
	if n := len(s.escapes); n > 0 {
		mild = append(mild, fmt.Sprintf("names in %s lead out of it (%d, first %q): nothing is written, they are read under shorter names", s.base(), n, s.escapes[0]))
	}
	all := append(s.notes, mild...)
	if len(s.ins) == 0 {
		if len(s.notes) == 0 {
			all = append([]string{"archive holds no log files"}, all...)
		}
		in := broken(s.a.path, s.a.node, strings.Join(all, "; "))
		in.tail = s.a.tail
		return []Input{in}
	}
	if len(all) > 0 {
		first := &s.ins[0]
		first.Problems = append(first.Problems, strings.Join(all, "; "))
		first.Incomplete = first.Incomplete || len(s.notes) > 0
	}
	return s.ins
}

// cutoff words the error that ended the listing.
func (s *shelf) cutoff(err error) {
	switch e := err.(type) {
	case bombError, inputError:
		s.note("%s %s", s.base(), e.Error())
	default:
		s.note("%s ends early or is damaged (%v): what comes behind entry %d was left out", s.base(), err, s.entries)
	}
}
