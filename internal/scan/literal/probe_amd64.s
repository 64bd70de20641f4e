#include "textflag.h"

// func filterAVX2(filter *uint32, text *byte, n int, found *int32) int
//
// Eight windows, at every fourth byte, a round: fold, hash the first four bytes and the
// last four of six, gather the word that the first choose, test two bits in either half
// of it. The same as filter.maybe, which says what the bits are.
TEXT ·filterAVX2(SB), NOSPLIT, $0-40
	MOVQ filter+0(FP), DI
	MOVQ text+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ found+24(FP), DX
	MOVQ DX, R8              // where the list begins
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

	VPOR Y5, Y7, Y5
	VPSLLD $31, Y5, Y5
	VMOVMSKPS Y5, AX
	TESTL AX, AX
	JNZ some

next:
	ADDQ $32, R9
	CMPQ R9, CX
	JLT round
	VZEROUPPER
	SUBQ R8, DX
	SHRQ $2, DX
	MOVQ DX, ret+32(FP)
	RET

some:
	TZCNTL AX, BX
	LEAQ (R9)(BX*4), R10
	MOVL R10, (DX)
	ADDQ $4, DX
	BLSRL AX, AX
	JNZ some
	JMP next

// HALVES looks both halves of the 16 bytes at off(SI)(R9*1) up in the masks lo and hi
// and leaves the buckets that have the byte in out. Y15 is 0x0f in every byte.
#define HALVES(off, lo, hi, tmp, out) \
	VBROADCASTI128 off(SI)(R9*1), out \
	VPSRLW $4, out, tmp               \
	VPAND Y15, out, out               \
	VPAND Y15, tmp, tmp               \
	VPSHUFB out, lo, out              \
	VPSHUFB tmp, hi, tmp              \
	VPAND out, tmp, out

// func teddyAVX2(masks *byte, text *byte, n int, found *int32) int
TEXT ·teddyAVX2(SB), NOSPLIT, $0-40
	MOVQ masks+0(FP), DI
	MOVQ text+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ found+24(FP), DX
	MOVQ DX, R8
	XORQ R9, R9

	MOVL $0x0f0f0f0f, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	VPXOR Y14, Y14, Y14
	VMOVDQU 0(DI), Y6
	VMOVDQU 32(DI), Y7
	VMOVDQU 64(DI), Y8
	VMOVDQU 96(DI), Y9
	VMOVDQU 128(DI), Y10
	VMOVDQU 160(DI), Y11
	VMOVDQU 192(DI), Y12
	VMOVDQU 224(DI), Y13

round:
	HALVES(0, Y6, Y7, Y4, Y0)
	HALVES(1, Y8, Y9, Y5, Y1)
	HALVES(2, Y10, Y11, Y4, Y2)
	HALVES(3, Y12, Y13, Y5, Y3)
	VPAND Y0, Y1, Y0
	VPAND Y2, Y3, Y2
	VPAND Y0, Y2, Y0
	VPTEST Y0, Y0
	JNZ some

next:
	ADDQ $16, R9
	CMPQ R9, CX
	JLT round
	VZEROUPPER
	SUBQ R8, DX
	SHRQ $2, DX
	MOVQ DX, ret+32(FP)
	RET

some:
	// A byte is a place when any bucket of either half is left.
	VPCMPEQB Y14, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPAND X0, X1, X0
	VPMOVMSKB X0, AX
	XORL $0xffff, AX

each:
	TZCNTL AX, BX
	LEAQ (R9)(BX*1), R10
	MOVL R10, (DX)
	ADDQ $4, DX
	BLSRL AX, AX
	JNZ each
	JMP next
