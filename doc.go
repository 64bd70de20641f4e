// Package gpumedic is the glossary of the program: the nouns that every other
// package speaks in. It does no I/O, reads no clock and imports only the
// standard library.
//
// The flow of data through these nouns is the flow of the whole program:
//
//	source ──► Signal ──► Finding ──► report, act, verify
//
// A [Signal] is one thing observed (an Xid line, an AER record, a reading of
// nvidia-smi) with its [Evidence]. A [Subject] says what it is about. The engine
// in internal/diagnose turns signals and the catalog into [Finding]s, and a
// [Report] is what `gpumedic diagnose` prints (JSON schema gpumedic.report/v1).
package gpumedic
