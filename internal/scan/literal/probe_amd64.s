#include "textflag.h"

// LIST appends to the list at end the windows of a round whose lane in lanes has its
// lowest bit set. It stores eight; those that are none are written over.
#define LIST(lanes, end) \
	VPSLLD $31, lanes, lanes     \
	VMOVMSKPS lanes, AX          \
	VPMOVZXBD (R11)(AX*8), Y9    \
	VPADDD Y9, Y10, Y9           \
	VMOVDQU Y9, (end)            \
	POPCNTL AX, AX               \
	LEAQ (end)(AX*4), end

// func filterAVX2(filter *uint32, text *byte, n int, wide, long *int32) (nwide, nlong int)
//
// Eight windows, at every fourth byte, a round: fold, hash the first four bytes and the
// last four of six, gather the word that the first choose, test two bits in either half
// of it. The same as filter.maybe, which says what the bits are.
TEXT ·filterAVX2(SB), NOSPLIT, $0-56
	MOVQ filter+0(FP), DI
	MOVQ text+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ wide+24(FP), DX
	MOVQ long+32(FP), BX
	XORQ R9, R9              // offset in the text

	MOVL $0x20202020, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	MOVL $0x9E3779B1, AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14
	MOVL $15, AX
	VMOVD AX, X13
	VPBROADCASTD X13, Y13
	MOVL $16, AX
	VMOVD AX, X12
	VPBROADCASTD X12, Y12
	VPXOR Y10, Y10, Y10      // offset in the text, eight times
	MOVL $32, AX
	VMOVD AX, X11
	VPBROADCASTD X11, Y11
	LEAQ ·leftPack(SB), R11

round:
	VPOR (SI)(R9*1), Y15, Y0
	VPSRLD $16, Y0, Y1
	VPXOR Y0, Y1, Y0
	VPMULLD Y14, Y0, Y0      // hash of bytes 0 to 3
	VPSRLD $18, Y0, Y1       // its upper 14 bits: which word
	VPCMPEQD Y2, Y2, Y2
	VPGATHERDD Y2, (DI)(Y1*4), Y3

	VPOR 2(SI)(R9*1), Y15, Y4
	VPSRLD $16, Y4, Y5
	VPXOR Y4, Y5, Y4
	VPMULLD Y14, Y4, Y4      // hash of bytes 2 to 5
	VPSRLD $28, Y4, Y5
	VPSRLVD Y5, Y3, Y5       // first bit of a wide window
	VPSRLD $24, Y4, Y6
	VPAND Y13, Y6, Y6
	VPSRLVD Y6, Y3, Y6       // second bit
	VPAND Y5, Y6, Y5

	VPSRLD $15, Y0, Y7
	VPAND Y13, Y7, Y7
	VPOR Y12, Y7, Y7
	VPSRLVD Y7, Y3, Y7       // first bit of a long window
	VPSRLD $11, Y0, Y8
	VPAND Y13, Y8, Y8
	VPOR Y12, Y8, Y8
	VPSRLVD Y8, Y3, Y8       // second bit
	VPAND Y7, Y8, Y7

	LIST(Y5, DX)
	LIST(Y7, BX)
	VPADDD Y11, Y10, Y10
	ADDQ $32, R9
	CMPQ R9, CX
	JLT round
	VZEROUPPER
	SUBQ wide+24(FP), DX
	SHRQ $2, DX
	MOVQ DX, nwide+40(FP)
	SUBQ long+32(FP), BX
	SHRQ $2, BX
	MOVQ BX, nlong+48(FP)
	RET

DATA nibbles<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibbles<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibbles<>+16(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibbles<>+24(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibbles<>(SB), RODATA|NOPTR, $32

// LOOKUP leaves in out the buckets that have the bytes of which the halves are in Y0 and
// Y1 at one place of a window.
#define LOOKUP(lo, hi, out) \
	VPSHUFB Y0, lo, out     \
	VPSHUFB Y1, hi, Y14     \
	VPAND out, Y14, out

// BEFORE narrows Y2 by a byte that stands n bytes before, which is in part in the round
// before: last, where this round's go then.
#define BEFORE(n, lo, hi, last) \
	LOOKUP(lo, hi, Y15)                 \
	VPALIGNR $(16-n), last, Y15, last   \
	VPAND last, Y2, Y2                  \
	VMOVDQA Y15, last

// ROUND looks at 16 bytes, in both halves of a vector: 8 buckets each. It leaves a bit in
// out for each byte at which no window ends.
#define ROUND(off, out) \
	VBROADCASTI128 off(SI)(R9*1), Y0 \
	VPSRLW $4, Y0, Y1                \
	VPAND nibbles<>(SB), Y0, Y0      \
	VPAND nibbles<>(SB), Y1, Y1      \
	LOOKUP(Y12, Y13, Y2)             \
	BEFORE(1, Y10, Y11, Y5)          \
	BEFORE(2, Y8, Y9, Y4)            \
	BEFORE(3, Y6, Y7, Y3)            \
	VEXTRACTI128 $1, Y2, X0          \
	VPOR X0, X2, X2                  \
	VPXOR X0, X0, X0                 \
	VPCMPEQB X0, X2, X2              \
	VPMOVMSKB X2, out

// func teddyKernel(masks *byte, text *byte, n int, found *int32, before byte) int
TEXT ·teddyKernel(SB), NOSPLIT, $0-48
	MOVQ masks+0(FP), DI
	MOVQ text+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ found+24(FP), DX
	MOVQ DX, R8
	XORQ R9, R9

	VPBROADCASTB before+32(FP), Y5
	VMOVDQA Y5, Y4
	VMOVDQA Y5, Y3
	VMOVDQU 0(DI), Y6
	VMOVDQU 32(DI), Y7
	VMOVDQU 64(DI), Y8
	VMOVDQU 96(DI), Y9
	VMOVDQU 128(DI), Y10
	VMOVDQU 160(DI), Y11
	VMOVDQU 192(DI), Y12
	VMOVDQU 224(DI), Y13

rounds:
	ROUND(0, BX)
	ROUND(16, AX)
	SHLQ $16, AX
	ORQ AX, BX
	ROUND(32, AX)
	SHLQ $32, AX
	ORQ AX, BX
	ROUND(48, AX)
	SHLQ $48, AX
	ORQ AX, BX
	NOTQ BX
	POPCNTQ BX, R10
	MOVQ DX, R11

four:
	TZCNTQ BX, R12
	LEAL -3(R9)(R12*1), R12
	MOVL R12, 0(R11)
	BLSRQ BX, BX
	TZCNTQ BX, R12
	LEAL -3(R9)(R12*1), R12
	MOVL R12, 4(R11)
	BLSRQ BX, BX
	TZCNTQ BX, R12
	LEAL -3(R9)(R12*1), R12
	MOVL R12, 8(R11)
	BLSRQ BX, BX
	TZCNTQ BX, R12
	LEAL -3(R9)(R12*1), R12
	MOVL R12, 12(R11)
	BLSRQ BX, BX
	ADDQ $16, R11
	TESTQ BX, BX
	JNZ four                 // more than four in 64 bytes are rare

	LEAQ (DX)(R10*4), DX
	ADDQ $64, R9
	CMPQ R9, CX
	JLT rounds
	VZEROUPPER
	SUBQ R8, DX
	SHRQ $2, DX
	MOVQ DX, ret+40(FP)
	RET
