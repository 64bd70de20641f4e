// Package burn tests GPUs by using them: memory (memtest), arithmetic (stress), transfer
// rates (bandwidth). It drives the GPU through internal/driver/cuda with kernels of its
// own, PTX text that the driver compiles, so that no CUDA toolkit is needed.
//
// A test is run in two parts. The worker, in a child process for each GPU, makes the
// driver calls and reports what happens as a stream of events. The parent keeps the
// clock, shows progress and makes an [Outcome] of the events, also when the worker was
// given up on: what was not tested is never counted as good.
//
//	worker (child): context ─► kernels ─► events ──► parent: Outcome ──► readings document
//
// An Outcome is written as a readings document, and the same rules and the same engine
// that judge a log judge it. Nothing here decides what is a fault.
//
// What the tests leave out on purpose: repeated reads of neighbouring rows to disturb a
// row (row hammer). The rows next to ours may hold the driver's data, which we must not
// put at risk. Clocks, power limits and modes are never changed, and no GPU is reset.
package burn
