package flight

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Bounds of a pickle. A dump of 20,000 collectives with stacks stays far below.
const (
	maxStack = 1 << 20
	maxMemo  = 1 << 22
	maxMarks = 256
	maxItems = 1 << 24 // objects in all containers together
)

// list and dict are containers of a pickle, shared by reference as pickles share them.
type list struct{ items []any }

type dict struct{ m map[string]any }

// mark is the marker of the stack machine.
type mark struct{}

// errCode says that a pickle wants something done rather than holding data.
type errCode struct{ op string }

func (e errCode) Error() string {
	return "read pickle: it holds code to run (" + e.op + "): refused, only plain data is read"
}

// refused names the opcodes that would import, call or look something up.
var refused = map[byte]string{
	'c': "GLOBAL", 0x93: "STACK_GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 0x81: "NEWOBJ", 0x92: "NEWOBJ_EX",
	0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 'P': "PERSID", 'Q': "BINPERSID", 0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// unpickler reads one pickle.
type unpickler struct {
	data  []byte
	at    int
	stack []any
	marks int
	memo  map[uint32]any
	items int
}

var errShort = errors.New("read pickle: it ends early")

// unpickle reads the first pickle of data and returns what follows it.
func unpickle(data []byte) (v any, rest []byte, err error) {
	u := unpickler{data: data, memo: map[uint32]any{}}
	for {
		op, err := u.byte()
		if err != nil {
			return nil, nil, err
		}
		if op == '.' {
			if len(u.stack) == 0 {
				return nil, nil, errors.New("read pickle: nothing in it")
			}
			return u.stack[len(u.stack)-1], u.data[u.at:], nil
		}
		if err := u.step(op); err != nil {
			return nil, nil, err
		}
		if len(u.stack) > maxStack || len(u.memo) > maxMemo || u.marks > maxMarks || u.items > maxItems {
			return nil, nil, errors.New("read pickle: it is nested deeper or holds more than a dump can")
		}
	}
}

func (u *unpickler) byte() (byte, error) {
	if u.at >= len(u.data) {
		return 0, errShort
	}
	u.at++
	return u.data[u.at-1], nil
}

func (u *unpickler) take(n uint64) ([]byte, error) {
	if n > uint64(len(u.data)-u.at) {
		return nil, errShort
	}
	b := u.data[u.at : u.at+int(n)]
	u.at += int(n)
	return b, nil
}

// number reads a little-endian number of n bytes.
func (u *unpickler) number(n int) (uint64, error) {
	b, err := u.take(uint64(n))
	if err != nil {
		return 0, err
	}
	var buf [8]byte
	copy(buf[:], b)
	return binary.LittleEndian.Uint64(buf[:]), nil
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	n := len(u.stack)
	if n == 0 {
		return nil, errors.New("read pickle: its stack is empty")
	}
	v := u.stack[n-1]
	if _, ok := v.(mark); ok {
		return nil, errors.New("read pickle: a marker where a value should be")
	}
	u.stack = u.stack[:n-1]
	return v, nil
}

// popMark returns what lies above the last marker.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(mark); ok {
			v := u.stack[i+1:]
			u.stack = u.stack[:i]
			u.marks--
			return v, nil
		}
	}
	return nil, errors.New("read pickle: no marker")
}

// sizes of the length in front of texts and bytes, by opcode.
var sized = map[byte]int{'X': 4, 0x8c: 1, 0x8d: 8, 'T': 4, 'U': 1, 'B': 4, 'C': 1, 0x8e: 8}

// plainSize is how many bytes the number of a plain opcode takes.
var plainSize = map[byte]int{'K': 1, 'M': 2, 'J': 4, 'q': 1, 'h': 1, 'r': 4, 'j': 4, 0x80: 1, 0x95: 8, 'G': 8, 0x8a: 1, 0x8b: 4}

func (u *unpickler) step(op byte) error {
	if n, ok := sized[op]; ok {
		size, err := u.number(n)
		if err != nil {
			return err
		}
		b, err := u.take(size)
		if err == nil {
			u.push(string(b))
		}
		return err
	}
	if n, ok := plainSize[op]; ok {
		v, err := u.number(n)
		if err != nil {
			return err
		}
		return u.numeric(op, v)
	}
	switch op {
	case 'N':
		u.push(nil)
	case 0x88:
		u.push(true)
	case 0x89:
		u.push(false)
	case '(':
		u.marks++
		u.push(mark{})
	case '0':
		_, err := u.pop()
		return err
	case '1':
		_, err := u.popMark()
		return err
	case 0x94:
		return u.remember(uint32(len(u.memo)))
	case '}':
		u.push(&dict{map[string]any{}})
	case ']', ')':
		u.push(&list{})
	default:
		return u.build(op)
	}
	return nil
}

// numeric handles the opcodes that hold one number.
func (u *unpickler) numeric(op byte, v uint64) error {
	switch op {
	case 'K', 'M':
		u.push(int64(v))
	case 'J':
		u.push(int64(int32(v)))
	case 'G':
		b := u.data[u.at-8 : u.at]
		u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case 0x8a, 0x8b:
		b, err := u.take(v)
		if err != nil {
			return err
		}
		if len(b) > 8 {
			return errors.New("read pickle: a number of more than 64 bits")
		}
		u.push(signed(b))
	case 'q', 'r':
		return u.remember(uint32(v))
	case 'h', 'j':
		got, ok := u.memo[uint32(v)]
		if !ok {
			return fmt.Errorf("read pickle: it refers to object %d, which it does not have", v)
		}
		u.push(got)
	case 0x80:
		if v > 5 {
			return fmt.Errorf("read pickle: protocol %d is not known", v)
		}
	}
	return nil // 0x95, a frame: only its length
}

// signed reads a little-endian number in two's complement.
func signed(b []byte) int64 {
	if len(b) == 0 {
		return 0
	}
	var buf [8]byte
	if b[len(b)-1]&0x80 != 0 {
		for i := range buf {
			buf[i] = 0xff
		}
	}
	copy(buf[:], b)
	return int64(binary.LittleEndian.Uint64(buf[:]))
}

func (u *unpickler) remember(n uint32) error {
	if len(u.stack) == 0 {
		return errors.New("read pickle: nothing to remember")
	}
	u.memo[n] = u.stack[len(u.stack)-1]
	return nil
}

// build handles the opcodes that put values into containers.
func (u *unpickler) build(op byte) error {
	switch op {
	case 'a', 's':
		n := 1
		if op == 's' {
			n = 2
		}
		vals := make([]any, n)
		for i := n - 1; i >= 0; i-- {
			v, err := u.pop()
			if err != nil {
				return err
			}
			vals[i] = v
		}
		return u.into(op == 's', vals)
	case 'e', 'u':
		vals, err := u.popMark()
		if err != nil {
			return err
		}
		return u.into(op == 'u', vals)
	case 't', 'l', 'd':
		vals, err := u.popMark()
		if err != nil {
			return err
		}
		return u.fresh(op == 'd', vals)
	case 0x85, 0x86, 0x87:
		n := int(op) - 0x84
		if len(u.stack) < n {
			return errShort
		}
		vals := u.stack[len(u.stack)-n:]
		u.stack = u.stack[:len(u.stack)-n]
		return u.fresh(false, vals)
	}
	if name, ok := refused[op]; ok {
		return errCode{name}
	}
	return fmt.Errorf("read pickle: opcode 0x%02x is none of plain data", op)
}

// fresh pushes a new container.
func (u *unpickler) fresh(isDict bool, vals []any) error {
	vals = append([]any(nil), vals...)
	if isDict {
		u.push(&dict{map[string]any{}})
	} else {
		u.push(&list{})
	}
	return u.into(isDict, vals)
}

// into adds values to the container on top of the stack.
func (u *unpickler) into(pairs bool, vals []any) error {
	u.items += len(vals)
	top, err := u.pop()
	if err != nil {
		return err
	}
	switch c := top.(type) {
	case *list:
		if !pairs {
			c.items = append(c.items, vals...)
			u.push(c)
			return nil
		}
	case *dict:
		if pairs && len(vals)%2 == 0 {
			for i := 0; i < len(vals); i += 2 {
				key, ok := keyText(vals[i])
				if !ok {
					return errors.New("read pickle: a key is neither text nor number")
				}
				c.m[key] = vals[i+1]
			}
			u.push(c)
			return nil
		}
	}
	return errors.New("read pickle: values without a container")
}

func keyText(v any) (string, bool) {
	switch k := v.(type) {
	case string:
		return k, true
	case int64:
		return strconv.FormatInt(k, 10), true
	}
	return "", false
}
