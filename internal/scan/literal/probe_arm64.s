#include "textflag.h"

// LOOKUP leaves in out the buckets of eight that have the bytes of which the halves are in
// V16 and V17, by the masks lo and hi.
#define LOOKUP(lo, hi, out) \
	VTBL V16.B16, [lo.B16], out.B16 \
	VTBL V17.B16, [hi.B16], V22.B16 \
	VAND V22.B16, out.B16, out.B16

// BEFORE narrows acc by a byte that stands before, which is in part in the round before:
// last, where this round's go then. back is 16 less how far before.
#define BEFORE(back, lo, hi, last, acc) \
	LOOKUP(lo, hi, V21)                          \
	VEXT $back, V21.B16, last.B16, last.B16      \
	VAND last.B16, acc.B16, acc.B16              \
	VORR V21.B16, V21.B16, last.B16

// PLACES lists the bytes of a word that are not 0; base is where its window of the first
// byte begins.
#define PLACES(word, base, again, done) \
again:                          \
	CBZ word, done              \
	RBIT word, R10              \
	CLZ R10, R10                \
	LSR $3, R10, R11            \
	ADD base, R11, R11          \
	MOVW R11, (R3)              \
	ADD $4, R3                  \
	AND $0x38, R10, R10         \
	MOVD $0xff, R11             \
	LSL R10, R11, R11           \
	BIC R11, word, word         \
	B again                     \
done:

// func teddyKernel(masks *byte, text *byte, n int, found *int32, before byte) int
//
// The same as on amd64, in 16 bytes a round: the masks of 16 buckets are in pairs of
// registers, those of buckets 0 to 7 in the first.
TEXT ·teddyKernel(SB), NOSPLIT, $0-48
	MOVD masks+0(FP), R0
	MOVD text+8(FP), R1
	MOVD n+16(FP), R2
	MOVD found+24(FP), R3
	MOVBU before+32(FP), R4
	MOVD R3, R5              // where the list begins
	MOVD $-3, R6             // where a window begins that ends in the round's first byte

	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]
	VLD1.P 64(R0), [V8.B16, V9.B16, V10.B16, V11.B16]
	VLD1.P 64(R0), [V12.B16, V13.B16, V14.B16, V15.B16]
	VMOVI $15, V18.B16
	VDUP R4, V24.B16
	VDUP R4, V25.B16
	VDUP R4, V26.B16
	VDUP R4, V27.B16
	VDUP R4, V28.B16
	VDUP R4, V29.B16

round:
	VLD1.P 16(R1), [V16.B16]
	VUSHR $4, V16.B16, V17.B16
	VAND V18.B16, V16.B16, V16.B16
	LOOKUP(V12, V14, V19)
	LOOKUP(V13, V15, V20)
	BEFORE(15, V8, V10, V26, V19)
	BEFORE(15, V9, V11, V29, V20)
	BEFORE(14, V4, V6, V25, V19)
	BEFORE(14, V5, V7, V28, V20)
	BEFORE(13, V0, V2, V24, V19)
	BEFORE(13, V1, V3, V27, V20)
	VORR V19.B16, V20.B16, V19.B16
	VMOV V19.D[0], R7
	VMOV V19.D[1], R8
	ORR R7, R8, R9
	CBZ R9, next
	PLACES(R7, R6, low, lowDone)
	ADD $8, R6, R12
	PLACES(R8, R12, high, highDone)

next:
	ADD $16, R6
	SUBS $16, R2
	BGT round
	SUB R5, R3, R3
	LSR $2, R3, R3
	MOVD R3, ret+40(FP)
	RET
