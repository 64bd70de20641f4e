package gpu

import "bytes"

// changes appends to out the lines of a vital document that the one before it did not
// have, under their subjects. ok is false where the two do not hold the same readings in
// the same order: then only the whole document says what is gone.
//
// Of a GPU that does nothing hardly more than the power differs from second to second, and
// to take a line out here is cheaper than to read it there.
func changes(out, before, now []byte) (_ []byte, ok bool) {
	if len(before) == 0 {
		return out, false
	}
	begin := len(out)
	var head []byte // of the subject, until it is written
	for len(before) > 0 && len(now) > 0 {
		var a, b []byte
		a, before = cutLine(before)
		b, now = cutLine(now)
		if !bytes.Equal(nameOf(a), nameOf(b)) {
			return out[:begin], false
		}
		switch {
		case b[0] == '[':
			head = b
		case b[0] == '#' && len(out) == begin: // the document's header
			out = append(out, b...)
		case bytes.Equal(a, b):
		default:
			out = append(append(out, head...), b...)
			head = nil
		}
	}
	if len(before)+len(now) > 0 {
		return out[:begin], false
	}
	return out, true
}

// cutLine gives the first line, with its end, and the rest.
func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1], b[i+1:]
	}
	return b, nil
}

// nameOf is what a line is about: the reading, or the subject.
func nameOf(line []byte) []byte {
	if line[0] == '[' || line[0] == '#' {
		return line
	}
	name, _, _ := bytes.Cut(line, []byte(": "))
	return name
}
