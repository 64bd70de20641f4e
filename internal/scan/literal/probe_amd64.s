#include "textflag.h"

// func filterAVX2(filter *uint32, text *byte, n int, found *int32) int
//
// Eight windows, at every fourth byte, a round: fold, hash, gather the word of the
// filter, test both bits. The same as pass.maybe.
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
	MOVL $31, AX
	VMOVD AX, X13
	VPBROADCASTD X13, Y13

round:
	VPOR (SI)(R9*1), Y15, Y0
	VPSRLD $16, Y0, Y1
	VPXOR Y0, Y1, Y0
	VPMULLD Y14, Y0, Y0      // the hash
	VPSRLD $19, Y0, Y1       // its upper 13 bits: which word
	VPCMPEQD Y2, Y2, Y2
	VPGATHERDD Y2, (DI)(Y1*4), Y3
	VPSRLD $14, Y0, Y4
	VPAND Y13, Y4, Y4
	VPSRLVD Y4, Y3, Y4
	VPSRLD $9, Y0, Y5
	VPAND Y13, Y5, Y5
	VPSRLVD Y5, Y3, Y5
	VPAND Y4, Y5, Y4
	VPSLLD $31, Y4, Y4
	VMOVMSKPS Y4, AX
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

round:
	HALVES(0, Y6, Y7, Y3, Y0)
	HALVES(1, Y8, Y9, Y4, Y1)
	HALVES(2, Y10, Y11, Y5, Y2)
	VPAND Y0, Y1, Y0
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
