package nvml

import "strconv"

// A Field asks for one value of nvmlDeviceGetFieldValues; Scope is a link's number where
// the field is about links.
type Field struct{ ID, Scope uint32 }

// fieldBatch bounds a call: a driver call can hang, and a smaller one says better where.
const fieldBatch = 64

// Fields asks for many values at once. Each has its own answer; the error is for a call
// that gave none at all.
func (n *NVML) Fields(d Device, fields ...Field) ([]FieldValue, error) {
	const name = "nvmlDeviceGetFieldValues"
	f, _ := use[func(Device, int32, *FieldValue) Return](n, name)
	if f == nil {
		return nil, missing(name)
	}
	out := make([]FieldValue, len(fields))
	for i, q := range fields {
		// A driver leaves alone what it does not know.
		out[i] = FieldValue{FieldID: q.ID, ScopeID: q.Scope, Code: NotSupported}
	}
	for rest := out; len(rest) > 0; {
		batch := rest[:min(len(rest), fieldBatch)]
		n.begin(name)
		if err := ofKind(name, f(d, int32(len(batch)), &batch[0])); err != nil {
			return nil, err
		}
		rest = rest[len(batch):]
	}
	return out, nil
}

// Field asks for one value.
func (n *NVML) Field(d Device, id uint32) (FieldValue, error) {
	v, err := n.Fields(d, Field{ID: id})
	if err != nil {
		return FieldValue{}, err
	}
	return v[0], v[0].Err()
}

// Err is the answer's error: an old driver calls a field that it does not know an
// invalid argument.
func (v *FieldValue) Err() error {
	return ofKind("nvmlDeviceGetFieldValues("+strconv.Itoa(int(v.FieldID))+")", v.Code)
}

// Uint is the value as a count.
func (v *FieldValue) Uint() uint64 {
	switch v.Type {
	case TypeUnsignedInt, TypeSignedInt:
		return uint64(uint32(v.Value))
	case TypeUnsignedShort:
		return uint64(uint16(v.Value))
	}
	return v.Value
}

// Int is the value as a signed figure. Drivers say "unsigned int" of margins that are
// negative.
func (v *FieldValue) Int() int64 {
	switch v.Type {
	case TypeUnsignedInt, TypeSignedInt:
		return int64(int32(v.Value))
	case TypeUnsignedShort:
		return int64(uint16(v.Value))
	}
	return int64(v.Value)
}

// Available reports that a counter has a value.
func (v *FieldValue) Available() bool { return v.Code == Success && v.Value != notAvailable }
