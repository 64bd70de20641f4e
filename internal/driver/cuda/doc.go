// Package cuda is a typed door to NVIDIA's CUDA driver library, libcuda.so.1, opened at
// run time without cgo and without the CUDA toolkit. It binds what tests of a GPU need:
// memory, modules from PTX text, launches, streams, events, peers.
//
//	Open ─► Driver ─► ByPCI ─► Device ─► Context (one OS thread)
//	                                      ├─ Alloc, Copy, Set
//	                                      ├─ Load(PTX) ─► Module ─► Function ─► Launch
//	                                      └─ Stream, Event
//
// The driver keeps its current context per OS thread, and some errors poison a context
// for the whole process. So each Context owns one goroutine that is locked to one thread
// and does all calls for its GPU, and callers run each GPU in a child process of its own
// (see internal/child): any call here can hang for ever.
//
// GPUs are named by their PCI address, which NVML, the kernel log and CUDA share; CUDA's
// own numbers depend on CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
package cuda
