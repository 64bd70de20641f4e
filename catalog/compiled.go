package catalog

import (
	_ "embed" // for the compiled catalog
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"sync"
)

// The compiled catalog is what [Load] makes of the YAML tree, written down so that the
// program starts at once: reading it is some 35 times as fast as parsing the YAML
// (BENCHMARKS.md). The YAML stays the truth that people edit. The file begins with a
// fingerprint of the tree that it was made from and of the types that it fills; when
// that is not the tree in this program, [Embedded] parses the YAML as if there were no
// file. So an old file makes nobody's change invisible, it only makes the start slow.
// TestCompiled fails until `go generate ./catalog` has written it anew, and the command
// says so to whoever sits at a terminal, so that no release ships one.
//
// After the fingerprint come the length of the values, the values, and the texts. A
// text is stored once and stays where it is: reading makes a string that points into
// the program's image, so a long text costs nothing until somebody prints it. Values
// refer to texts in the order in which they first appear:
//
//	0 and a length    the next text
//	n                 the n-th text again
//
// The values are the number of texts and then the catalog: of a struct the fields that
// are not zero, each led by its number from 1, and 0 as the end; of lists and maps a
// length and the elements. Numbers are varints.
//
// OPT: Go literals would need no reading at all, but the compiler would take seconds
// for a megabyte of them at every change. Compression saves 0.5 MB of a program of 10
// and the texts could no longer stay where they are.

//go:generate go test -run ^TestCompiled$ -count=1 . -update

//go:embed compiled/catalog.bin
var compiled string

// compiledForm changes when the form does, so that an old file is not misread.
const compiledForm = "1"

// Embedded is the catalog that ships in the program. Each call gives one of its own.
func Embedded() (*Catalog, error) {
	if Stale() {
		return Load(embedded)
	}
	return decompile(compiled[len(compiledHead()):])
}

// Stale reports whether the compiled catalog is not of the YAML in this program, which
// then is parsed at every start.
func Stale() bool { return !strings.HasPrefix(compiled, compiledHead()) }

var compiledHead = sync.OnceValue(func() string { return headOf(embedded) })

// headOf is the first line of the compiled form of a tree.
func headOf(fsys fs.FS) string {
	return fmt.Sprintf("gpumedic catalog %016x\n", fingerprint(fsys))
}

// fingerprint tells apart trees that [Load] reads, and the types that it fills. It is
// 0.2 ms of every start, therefore a CRC, which processors have an instruction for: it
// guards against forgetting, not against malice.
func fingerprint(fsys fs.FS) uint64 {
	h, size := crc32.New(crc32.MakeTable(crc32.Castagnoli)), 0
	io.WriteString(h, compiledForm) // a hash's Write never fails
	describe(h, reflect.TypeFor[Catalog](), map[reflect.Type]bool{})
	buf := make([]byte, 64<<10)
	add := func(name string) error {
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		io.WriteString(h, "\n"+name+"\n")
		n, err := io.CopyBuffer(h, onlyReader{f}, buf)
		size += int(n)
		return err
	}
	for _, root := range []string{"groups.yaml", "signals", "readings", "faults"} {
		err := fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "cases":
				return fs.SkipDir // no part of what is loaded
			case d.IsDir() || !strings.HasSuffix(p, ".yaml"):
				return nil
			}
			return add(p)
		})
		if err != nil {
			io.WriteString(h, err.Error()) // like no other tree; Load says what is wrong
		}
	}
	return uint64(size)<<32 | uint64(h.Sum32())
}

// onlyReader hides other ways to copy, so that the one buffer is used.
type onlyReader struct{ io.Reader }

// describe writes the struct types below t with their fields in order.
func describe(w io.Writer, t reflect.Type, done map[reflect.Type]bool) {
	if done[t] {
		return
	}
	done[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		describe(w, t.Elem(), done)
	case reflect.Map:
		describe(w, t.Key(), done)
		describe(w, t.Elem(), done)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			io.WriteString(w, t.Name()+" "+f.Name+" "+f.Type.String()+"\n")
			describe(w, f.Type, done)
		}
	}
}

// decompile reads what compile wrote. The strings of the result are parts of data.
func decompile(data string) (*Catalog, error) {
	d := &compiledReader{in: data, readers: map[reflect.Type]func(reflect.Value){}}
	n := d.length()
	d.in, d.text, d.at = data[d.at:d.at+n], data[d.at+n:], 0
	d.strs = make([]string, 0, d.length())
	c := &Catalog{}
	if read := d.reader(reflect.TypeFor[Catalog]()); d.err == nil {
		read(reflect.ValueOf(c).Elem())
	}
	if rest := len(d.in) - d.at; d.err == nil && rest != 0 {
		d.fail("%d bytes too many", rest)
	}
	if d.err != nil {
		return nil, fmt.Errorf("read compiled catalog: %w: run go generate ./catalog", d.err)
	}
	return c, nil
}

// compiledReader reads values. The first error stays; from then on every number is 0,
// which ends every loop.
type compiledReader struct {
	in, text string
	at       int
	strs     []string
	readers  map[reflect.Type]func(reflect.Value)
	err      error
}

func (d *compiledReader) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.at = len(d.in)
}

func (d *compiledReader) uint() uint64 {
	var x uint64
	for shift := 0; shift < 64; shift += 7 {
		if d.at >= len(d.in) {
			d.fail("it ends early")
			return 0
		}
		b := d.in[d.at]
		d.at++
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x
		}
	}
	d.fail("a number is too long")
	return 0
}

// length reads how many elements follow; each takes a byte at least.
func (d *compiledReader) length() int {
	n := d.uint()
	if n > uint64(len(d.in)-d.at) {
		d.fail("a length of %d is more than there is", n)
		return 0
	}
	return int(n)
}

func (d *compiledReader) string() string {
	n := d.uint()
	if n > uint64(len(d.strs)) {
		d.fail("text %d of %d", n, len(d.strs))
		return ""
	}
	if n > 0 {
		return d.strs[n-1]
	}
	size := d.uint()
	if size > uint64(len(d.text)) {
		d.fail("a text of %d bytes is more than there is", size)
		return ""
	}
	s := d.text[:size]
	d.text = d.text[size:]
	d.strs = append(d.strs, s)
	return s
}

// reader is the function that reads a value of a type. Making it once saves looking at
// the type for each of tens of thousands of values.
func (d *compiledReader) reader(t reflect.Type) func(reflect.Value) {
	if read := d.readers[t]; read != nil {
		return read
	}
	var read func(reflect.Value)
	switch t.Kind() {
	case reflect.String:
		read = func(v reflect.Value) { v.SetString(d.string()) }
	case reflect.Bool:
		read = func(v reflect.Value) { v.SetBool(d.uint() != 0) }
	case reflect.Int, reflect.Int64:
		read = func(v reflect.Value) { n := d.uint(); v.SetInt(int64(n>>1) ^ -int64(n&1)) }
	case reflect.Float64:
		read = func(v reflect.Value) { v.SetFloat(math.Float64frombits(d.uint())) }
	case reflect.Pointer:
		elem := d.reader(t.Elem())
		read = func(v reflect.Value) { v.Set(reflect.New(t.Elem())); elem(v.Elem()) }
	case reflect.Slice:
		read = d.sliceReader(t)
	case reflect.Map:
		read = d.mapReader(t)
	case reflect.Struct:
		read = d.structReader(t)
	default:
		d.fail("no form for %s", t)
	}
	d.readers[t] = read
	return read
}

func (d *compiledReader) sliceReader(t reflect.Type) func(reflect.Value) {
	if t.Elem().Kind() == reflect.String { // most lists
		return func(v reflect.Value) {
			list := make([]string, d.length())
			for i := range list {
				list[i] = d.string()
			}
			v.Set(reflect.ValueOf(list))
		}
	}
	elem := d.reader(t.Elem())
	return func(v reflect.Value) {
		n := d.length()
		v.Set(reflect.MakeSlice(t, n, n))
		for i := range n {
			elem(v.Index(i))
		}
	}
}

func (d *compiledReader) mapReader(t reflect.Type) func(reflect.Value) {
	if t == reflect.TypeFor[map[string]string]() { // most maps
		return func(v reflect.Value) {
			n := d.length()
			m := make(map[string]string, n)
			for range n {
				k := d.string()
				m[k] = d.string()
			}
			v.Set(reflect.ValueOf(m))
		}
	}
	key, elem := d.reader(t.Key()), d.reader(t.Elem())
	return func(v reflect.Value) {
		n := d.length()
		m := reflect.MakeMapWithSize(t, n)
		for range n {
			k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key(k)
			elem(e)
			m.SetMapIndex(k, e)
		}
		v.Set(m)
	}
}

func (d *compiledReader) structReader(t reflect.Type) func(reflect.Value) {
	fields := make([]func(reflect.Value), t.NumField())
	for i := range fields {
		fields[i] = d.reader(t.Field(i).Type)
	}
	return func(v reflect.Value) {
		for n := d.uint(); n != 0; n = d.uint() {
			if n > uint64(len(fields)) {
				d.fail("field %d of %s", n, t.Name())
				return
			}
			fields[n-1](v.Field(int(n - 1)))
		}
	}
}
