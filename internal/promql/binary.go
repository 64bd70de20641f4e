package promql

import "fmt"

func (b *binary) eval(c *context) (value, error) {
	l, err := b.left.eval(c)
	if err != nil {
		return value{}, err
	}
	r, err := b.right.eval(c)
	if err != nil {
		return value{}, err
	}
	switch {
	case isSet(b.op) && (l.scalar || r.scalar):
		return value{}, fmt.Errorf("%s between numbers", b.op)
	case isSet(b.op):
		return b.set(l, r), nil
	case l.scalar && r.scalar:
		if isCompare(b.op) {
			return value{}, fmt.Errorf("%s between numbers", b.op)
		}
		v, _ := operate(b.op, l.number, r.number)
		return value{scalar: true, number: v}, nil
	case r.scalar:
		return b.each(l.vector, func(v float64) (float64, float64) { return v, r.number }), nil
	case l.scalar:
		return b.each(r.vector, func(v float64) (float64, float64) { return l.number, v }), nil
	}
	return b.match(l.vector, r.vector)
}

// operate is the value of an operation; ok says whether a comparison holds.
func operate(op string, a, b float64) (v float64, ok bool) {
	switch op {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/":
		return a / b, true
	case "==":
		return a, a == b
	case "!=":
		return a, a != b
	case "<":
		return a, a < b
	case "<=":
		return a, a <= b
	case ">":
		return a, a > b
	}
	return a, a >= b
}

// each applies an operation with a number to all series. A comparison keeps those for
// which it holds as they are, whichever side they are on.
func (b *binary) each(in []Sample, sides func(float64) (float64, float64)) (out value) {
	for _, s := range in {
		x, y := sides(s.Value)
		v, ok := operate(b.op, x, y)
		if !ok {
			continue
		}
		if isCompare(b.op) {
			v = s.Value
		} else {
			s.Name = ""
		}
		s.Value = v
		out.vector = append(out.vector, s)
	}
	return out
}

// key is what two series that belong together have in common.
func (b *binary) key(l Labels) string {
	if b.on {
		return l.only(b.labels).Key()
	}
	return l.without(b.labels).Key()
}

func (b *binary) set(l, r value) (out value) {
	there := map[string]bool{}
	for _, s := range r.vector {
		there[b.key(s.Labels)] = true
	}
	switch b.op {
	case "and", "unless":
		for _, s := range l.vector {
			if there[b.key(s.Labels)] == (b.op == "and") {
				out.vector = append(out.vector, s)
			}
		}
	default: // or
		clear(there)
		for _, s := range l.vector {
			there[b.key(s.Labels)] = true
		}
		out.vector = l.vector[:len(l.vector):len(l.vector)]
		for _, s := range r.vector {
			if !there[b.key(s.Labels)] {
				out.vector = append(out.vector, s)
			}
		}
	}
	return out
}

// match applies an operation to series that belong together.
func (b *binary) match(l, r []Sample) (out value, err error) {
	partners := map[string]Sample{}
	for _, s := range r {
		k := b.key(s.Labels)
		if _, twice := partners[k]; twice {
			return out, fmt.Errorf("several series on the right of %s belong to one: %v", b.op, s.Labels)
		}
		partners[k] = s
	}
	seen := map[string]bool{}
	for _, s := range l {
		k := b.key(s.Labels)
		partner, ok := partners[k]
		if !ok {
			continue
		}
		v, holds := operate(b.op, s.Value, partner.Value)
		if !holds {
			continue
		}
		if !b.many {
			if seen[k] {
				return out, fmt.Errorf("several series on the left of %s belong to one: %v", b.op, s.Labels)
			}
			seen[k] = true
			if b.on {
				s.Labels = s.Labels.only(b.labels)
			} else {
				s.Labels = s.Labels.without(b.labels)
			}
		}
		if !isCompare(b.op) {
			s.Name = ""
		}
		s.Value = v
		out.vector = append(out.vector, s)
	}
	return out, nil
}
