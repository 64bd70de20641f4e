package burn

import (
	"math"
	"math/bits"
)

// This file says in Go what each kernel of kernels/ computes. Tests compare the fake
// driver's kernels with it, and a self-check compares the real GPU's at the start of a
// test: a compiler that got a kernel wrong must not look like broken memory.

// Kinds of patterns, as the kernels number them.
const (
	kindHash = iota
	kindOwn
	kindRotate
	kindModulo
)

// A Pattern gives each 16-byte vector of the tested memory its value.
type Pattern struct {
	Name    string
	Kind    uint32
	A, B, S uint32
}

// Constants of the hash, odd numbers with well mixed bits.
const hash1, hash2, hash3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D

func mix(n, key uint32) uint32 {
	x := n*hash1 + key
	x ^= x >> 15
	x *= hash2
	return x ^ x>>16
}

// Vector is the value of vector number v.
func (p Pattern) Vector(v uint64) [4]uint32 {
	var w [4]uint32
	for j := range uint32(4) {
		switch p.Kind {
		case kindHash:
			w[j] = mix(uint32(v)<<2+j, uint32(v>>30)*hash3^p.S) ^ p.B
		case kindOwn:
			at := v << 4
			if j >= 2 {
				at += 8
			}
			if w[j] = uint32(at) ^ p.A; j&1 == 1 {
				w[j] = uint32(at>>32) ^ p.B
			}
		case kindRotate:
			w[j] = bits.RotateLeft32(p.A, int((uint32(v)<<2+j+p.S)&31)) ^ p.B
		case kindModulo:
			if w[j] = p.B; v%5*4+uint64(j) == uint64(p.S) {
				w[j] = p.A
			}
		}
	}
	return w
}

// chainR and chainE are the constants of the chains of fma.ptx: x = r·x·(1−x) + e.
const chainE = 1.0 / 4096

func chainR(k int) float64 {
	return [...]float64{3.90, 3.89, 3.88, 3.87, 3.86, 3.85, 3.84, 3.83}[k]
}

// fma32Digest is what thread tid of a block of kernel fma32 computes.
func fma32Digest(tid, iters, seed uint32) uint32 {
	var d uint32
	for k := range 8 {
		x := math.Float32frombits(mix(tid<<3+uint32(k), seed)&0x7FFFFF | 0x3F000000)
		r := float32(chainR(k))
		for range iters {
			x = fma32(fma32(x, -r, r), x, chainE)
		}
		d = bits.RotateLeft32(d, 7) ^ math.Float32bits(x)
	}
	return d
}

// fma64Digest is the same of kernel fma64.
func fma64Digest(tid, iters, seed uint32) uint32 {
	var d uint32
	for k := range 4 {
		at := tid<<3 + 2*uint32(k)
		hi, lo := mix(at, seed)&0xFFFFF|0x3FE00000, mix(at+1, seed)
		x := math.Float64frombits(uint64(hi)<<32 | uint64(lo))
		r := chainR(k)
		for range iters {
			x = math.FMA(math.FMA(x, -r, r), x, chainE)
		}
		b := math.Float64bits(x)
		d = bits.RotateLeft32(d, 7) ^ uint32(b)
		d = bits.RotateLeft32(d, 7) ^ uint32(b>>32)
	}
	return d
}

// fma32 is x*y+z in single precision, rounded once. The product of two float32 is exact
// in float64; the sum is rounded to odd there, after which rounding to float32 is right.
func fma32(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	s := p + float64(z)
	t := s - p
	err := (p - (s - t)) + (float64(z) - t) // what the rounding of s lost (two-sum)
	if b := math.Float64bits(s); err != 0 && b&1 == 0 {
		if (err > 0) == (s > 0) {
			b++
		} else {
			b--
		}
		s = math.Float64frombits(b)
	}
	return float32(s)
}
