package catalog

import (
	_ "embed" // for the compiled catalog
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// The compiled catalog is what [Load] makes of the YAML tree, written down so that the
// program starts at once: parsing the YAML takes some fifty times as long as reading
// this. The YAML stays the truth that people edit; `go generate ./catalog` writes the
// file anew, and TestCompiled fails while the two differ, so that no release can ship
// an old one. Everything that proves the catalog itself (catalog test, the contract)
// loads the YAML.
//
// The file is, after a line that names the format: the length of the values, the
// values, and the texts. A text is stored once and stays where it is: reading makes a
// string that points into the program's image, so a long text costs nothing until
// somebody prints it, and the pages that hold it are not even read from disk. Values
// refer to texts in the order in which they first appear:
//
//	0 and a length    the next text
//	n                 the n-th text again
//
// The first values are the struct types with their fields, so that a file written
// before a field was added can still be read. Then comes the catalog: of a struct the
// fields that are not zero, each led by its number from 1, and 0 as the end; of lists
// and maps a length and the elements. Numbers are varints.
//
// OPT: Go literals would need no reading at all, but compiling a megabyte of them
// takes the compiler seconds at every change; compression saves 0.6 MB of 10 and costs
// more time than reading.

//go:generate go test -run ^TestCompiled$ -count=1 . -update

//go:embed compiled/catalog.bin
var compiled string

const (
	compiledMagic = "gpumedic catalog, form 1\n"
	compileAgain  = "run: go generate ./catalog"
)

// decompile reads a compiled catalog. The strings of the result are parts of data.
func decompile(data string) (*Catalog, error) {
	body, ok := strings.CutPrefix(data, compiledMagic)
	if !ok {
		return nil, errors.New("read compiled catalog: wrong form; " + compileAgain)
	}
	d := &compiledReader{in: body}
	n := d.length()
	d.in, d.text = d.in[d.at:d.at+n], d.in[d.at+n:]
	d.at = 0
	d.types()
	c := &Catalog{}
	if read := d.reader(reflect.TypeFor[Catalog]()); d.err == nil {
		read(reflect.ValueOf(c).Elem())
	}
	if d.err == nil && d.at != len(d.in) {
		d.fail("%d bytes too many", len(d.in)-d.at)
	}
	if d.err != nil {
		return nil, fmt.Errorf("read compiled catalog: %w; %s", d.err, compileAgain)
	}
	return c, nil
}

// compiledReader reads values. The first error stays; from then on every number is 0,
// which ends every loop.
type compiledReader struct {
	in, text string
	at       int
	strs     []string
	fields   map[string][]string // by name of the struct type
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

func (d *compiledReader) types() {
	d.fields = map[string][]string{}
	d.readers = map[reflect.Type]func(reflect.Value){}
	d.strs = make([]string, 0, d.length())
	for range d.length() {
		name := d.string()
		for range d.length() {
			d.fields[name] = append(d.fields[name], d.string())
		}
	}
}

// fieldName tells a field with its type, so that a field whose type has changed is
// not mistaken for the old one.
func fieldName(f reflect.StructField) string { return f.Name + " " + f.Type.String() }

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
	type field struct {
		index int
		read  func(reflect.Value)
	}
	have := map[string]int{}
	for i := range t.NumField() {
		have[fieldName(t.Field(i))] = i
	}
	var fields []field
	for _, name := range d.fields[t.Name()] {
		i, ok := have[name]
		if !ok {
			d.fail("%s has no field %s", t.Name(), name)
			return func(reflect.Value) {}
		}
		fields = append(fields, field{i, d.reader(t.Field(i).Type)})
	}
	return func(v reflect.Value) {
		for n := d.uint(); n != 0; n = d.uint() {
			if n > uint64(len(fields)) {
				d.fail("field %d of %s", n, t.Name())
				return
			}
			f := &fields[n-1]
			f.read(v.Field(f.index))
		}
	}
}
