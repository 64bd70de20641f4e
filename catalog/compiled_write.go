package catalog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// compile writes a catalog in the form that compiled.go describes, without the
// fingerprint. Equal catalogs give equal bytes.
func compile(c *Catalog) ([]byte, error) {
	w := &compiledWriter{ids: map[string]uint64{}}
	w.value(reflect.ValueOf(c).Elem())
	if w.err != nil {
		return nil, fmt.Errorf("write compiled catalog: %w", w.err)
	}
	values := slices.Concat(binary.AppendUvarint(nil, uint64(len(w.ids))), w.out)
	return slices.Concat(binary.AppendUvarint(nil, uint64(len(values))), values, w.text), nil
}

type compiledWriter struct {
	out, text []byte
	ids       map[string]uint64 // of the texts so far
	err       error
}

func (w *compiledWriter) uint(n uint64) { w.out = binary.AppendUvarint(w.out, n) }

func (w *compiledWriter) string(s string) {
	if id, ok := w.ids[s]; ok {
		w.uint(id)
		return
	}
	w.ids[s] = uint64(len(w.ids) + 1)
	w.uint(0)
	w.uint(uint64(len(s)))
	w.text = append(w.text, s...)
}

func (w *compiledWriter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		w.string(v.String())
	case reflect.Bool:
		if v.Bool() {
			w.uint(1)
		} else {
			w.uint(0)
		}
	case reflect.Int, reflect.Int64:
		n := v.Int()
		w.uint(uint64(n)<<1 ^ uint64(n>>63))
	case reflect.Float64:
		w.uint(math.Float64bits(v.Float()))
	case reflect.Pointer:
		if v.IsNil() {
			w.err = cmp.Or(w.err, fmt.Errorf("an element of type %s is nil", v.Type()))
			return
		}
		w.value(v.Elem())
	case reflect.Slice:
		w.uint(uint64(v.Len()))
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		w.uint(uint64(len(keys)))
		for _, k := range keys {
			w.value(k)
			w.value(v.MapIndex(k))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				w.uint(uint64(i + 1))
				w.value(f)
			}
		}
		w.uint(0)
	default:
		w.err = cmp.Or(w.err, fmt.Errorf("no form for %s", v.Type()))
	}
}
