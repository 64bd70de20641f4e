// Package flight reads the dumps of PyTorch's NCCL flight recorder: what each rank of
// a job had handed to NCCL when the job hung.
//
// A dump is a pickle or JSON; its content decides, never its name. Nothing in a pickle
// is ever called or imported: the reader knows the opcodes of plain data and refuses
// all others.
//
//	bytes ──Parse──► []Dump (one a rank) ──Compare──► who is late, who differs
//
// Ranks of one process group number their collectives alike. A rank that others wait
// for has not reached the number that they are at. It may itself wait in another
// group, so the waits are followed to those who wait for nobody: they are late, and
// the dumps do not say why.
package flight
