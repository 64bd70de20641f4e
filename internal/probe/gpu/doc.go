// Package gpu reads the GPUs through NVML and writes what it read as readings, in the
// normal names of docs/readings.md and with the words that nvidia-smi uses, so that one
// rule judges both.
//
// Beside each value that is absent or unknown stands the NVML function and its reason.
// A GPU that the driver calls lost is named as such once and not asked again: each
// further call could be the one that never returns. A GPU that the caller may not open
// (another container's) is absent, not ill.
//
// The probe runs as a [Task] in a child process. It marks each driver call with the
// function and the GPU's address, and everything read before a call is in the answer, so
// that a hanging call costs one reading and not the report.
package gpu
