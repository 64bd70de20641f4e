package follow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Tail follows the files that patterns name. A path is one endless stream, whatever
// happens to the file: it is renamed and made anew, truncated, deleted, or appears later.
type Tail struct {
	Globs []string
	Every time.Duration // how often files are looked at
	// Max is how many files are followed, those written last first.
	Max int
}

// filePosition is the place in one file.
type filePosition struct {
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
	Off  int64  `json:"off"`
	Line int    `json:"line"`
}

// A tailed is one path that is followed.
type tailed struct {
	path string
	at   filePosition
	f    *os.File
	size int64     // at the last look
	grew time.Time // since when there is text that was not read
}

// settle is how long a file that is being written is waited for at most: what belongs
// together, as a traceback, is then mostly read together.
const settle = 2 * time.Second

type tailer struct {
	t     *Tail
	files map[string]*tailed
	begun bool // files that appear from now on are new
	known map[string]filePosition
	out   chan<- Chunk
}

// Run implements Follower.
func (t *Tail) Run(ctx context.Context, position string, out chan<- Chunk) error {
	x := &tailer{t: t, files: map[string]*tailed{}, known: map[string]filePosition{}, out: out}
	if json.Unmarshal([]byte(position), &x.known) == nil && position != "" {
		x.begun = true // files that were not there then are new
	}
	defer func() {
		for _, f := range x.files {
			f.close()
		}
	}()
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%8 == 0 {
			if err := x.look(ctx); err != nil {
				return err
			}
		}
		for _, path := range slices.Sorted(maps.Keys(x.files)) {
			if err := x.follow(ctx, x.files[path]); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look finds the files. Those that are there at the very first start are read from their
// end on: what they tell is over.
func (x *tailer) look(ctx context.Context) error {
	type found struct {
		path string
		at   time.Time
	}
	var all []found
	for _, g := range x.t.Globs {
		paths, err := filepath.Glob(g)
		if err != nil {
			return fmt.Errorf("follow job logs: read pattern %q: %w", g, err)
		}
		for _, p := range paths {
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
				all = append(all, found{p, st.ModTime()})
			}
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path)) })
	if len(all) > x.t.Max {
		all = all[:x.t.Max]
	}
	wanted, changed := map[string]bool{}, !x.begun
	for _, f := range all {
		wanted[f.path] = true
		if x.files[f.path] == nil {
			x.files[f.path] = &tailed{path: f.path}
			if err := x.start(ctx, x.files[f.path]); err != nil {
				return err
			}
			changed = true
		}
	}
	for path, f := range x.files {
		if _, err := os.Stat(path); !wanted[path] && (err != nil || len(all) == x.t.Max) {
			f.close()
			delete(x.files, path)
			delete(x.known, path)
		}
	}
	x.begun = true
	if !changed {
		return nil
	}
	// Which files are known is part of the place: one that appears while nobody looks is
	// then read from its beginning.
	return x.send(ctx, Chunk{At: time.Now()})
}

func (x *tailer) send(ctx context.Context, c Chunk) error {
	b, _ := json.Marshal(x.known) // of strings and numbers
	c.Position = string(b)
	select {
	case x.out <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start opens a path at the place that was kept, and reads what is left of a file that
// was renamed meanwhile.
func (x *tailer) start(ctx context.Context, f *tailed) error {
	at, known := x.known[f.path]
	if err := f.open(); err != nil {
		return nil // it went, or may not be read: the next look tries again
	}
	switch {
	case known && at.Dev == f.at.Dev && at.Ino == f.at.Ino:
		f.at = at
	case known:
		if old := renamed(f.path, at); old != nil {
			if err := x.follow(ctx, old); err != nil {
				return err
			}
			old.close()
		}
		f.at.Line = 0
	case !x.begun:
		f.at.Off, _ = f.f.Seek(0, io.SeekEnd)
		f.at.Off = lineStart(f.f, f.at.Off)
	}
	x.known[f.path] = f.at
	return nil
}

// lineStart is the beginning of the line that a place is in, near it.
func lineStart(f *os.File, off int64) int64 {
	buf := make([]byte, min(off, 4<<10))
	if n, err := f.ReadAt(buf, off-int64(len(buf))); err != nil || n == 0 {
		return off
	}
	return off - int64(len(buf)) + int64(bytes.LastIndexByte(buf, '\n')) + 1
}

// renamed looks beside a path for the file that it was.
func renamed(path string, at filePosition) *tailed {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(path), e.Name())
		st, err := os.Stat(name)
		if err != nil {
			continue
		}
		if dev, ino := identity(st); dev == at.Dev && ino == at.Ino {
			f := &tailed{path: name}
			if f.open() != nil || f.at.Ino != at.Ino {
				return nil
			}
			f.path, f.at = path, at // its lines are still those of the path
			f.grew = time.Unix(0, 0)
			return f
		}
	}
	return nil
}

func (f *tailed) open() error {
	file, err := openStream(f.path)
	if err != nil {
		return err
	}
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		file.Close()
		return errors.Join(err, fs.ErrInvalid)
	}
	f.f, f.size = file, 0
	f.at = filePosition{Line: f.at.Line}
	f.at.Dev, f.at.Ino = identity(st)
	return nil
}

func (f *tailed) close() {
	if f.f != nil {
		f.f.Close()
		f.f = nil
	}
}

// follow reads what a file has more, then looks whether the path is another file now.
func (x *tailer) follow(ctx context.Context, f *tailed) error {
	if f.f == nil {
		if f.open() != nil {
			return nil
		}
	}
	st, err := f.f.Stat()
	if err != nil {
		f.close()
		return nil
	}
	if st.Size() < f.at.Off { // truncated: written anew from the beginning
		f.at.Off, f.at.Line, f.size = 0, 0, 0
	}
	other := false
	if now, err := os.Stat(f.path); err == nil {
		dev, ino := identity(now)
		other = dev != f.at.Dev || ino != f.at.Ino
	}
	if st.Size() > f.at.Off {
		if f.grew.IsZero() {
			f.grew = time.Now()
		}
		quiet := st.Size() == f.size
		f.size = st.Size()
		if !quiet && !other && time.Since(f.grew) < settle {
			return nil
		}
		if err := x.read(ctx, f, other || quiet && time.Since(f.grew) > settle); err != nil {
			return err
		}
		f.grew = time.Time{}
	}
	if other {
		f.close()
		f.at.Line = 0
		if f.open() == nil {
			f.at.Line = 0
		}
	}
	return nil
}

// read hands on the lines that are there. whole says that a last line without its line
// feed is one, too.
func (x *tailer) read(ctx context.Context, f *tailed, whole bool) error {
	buf := make([]byte, MaxChunk)
	for {
		n, err := f.f.ReadAt(buf, f.at.Off)
		if n == 0 {
			return nil
		}
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if end == 0 && (n == len(buf) || whole && errors.Is(err, io.EOF)) {
			end = n
		}
		if end == 0 {
			return nil
		}
		text := bytes.Clone(buf[:end])
		c := Chunk{Input: f.path, Text: text, First: f.at.Line + 1, Lines: bytes.Count(text, []byte{'\n'}), At: time.Now()}
		if text[len(text)-1] != '\n' {
			c.Text, c.Lines = append(text, '\n'), c.Lines+1
		}
		f.at.Off += int64(end)
		f.at.Line += c.Lines
		x.known[f.path] = f.at
		if err := x.send(ctx, c); err != nil {
			return err
		}
		if end == n && n < len(buf) {
			return nil
		}
	}
}
