package frame

// Line is a Window of one line without neighbours.
type Line []byte

// Line returns the line for delta 0.
func (l Line) Line(delta int) ([]byte, bool) { return l, delta == 0 }

// Lines is a Window on a slice of lines.
type Lines struct {
	All [][]byte
	At  int
}

// Line returns the line delta away from At.
func (l Lines) Line(delta int) ([]byte, bool) {
	i := l.At + delta
	if i < 0 || i >= len(l.All) {
		return nil, false
	}
	return l.All[i], true
}
