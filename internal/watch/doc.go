// Package watch is the node's daemon: it supervises the sources, feeds what they say to
// the same engine as every other verb, keeps incidents, and serves them.
//
//	kernel log ─┐                 ┌─ window of events ─┐          ┌─► store ─► notifications
//	journal    ─┼─ chunks ─► scan ┤                    ├► engine ─┼─► metrics
//	job logs   ─┘                 │                    │          └─► page, API
//	NVML (in a child) ─ readings ─┴─ latest readings ──┘
//	host              ─┘
//
// One goroutine, the loop, owns the window, the readings and the engine; nothing else
// touches them. Sources run side by side, each in a goroutine of its own that blocks on
// the loop: a slow loop slows them, and what the kernel overwrites meanwhile is counted.
// A source that hangs hangs alone, and is reported.
//
// # Nothing lost, nothing twice
//
// The position of each log, the window of events and what the incident store concluded
// from them are written in one transaction. A process that is killed at any point begins
// again where that transaction ended, with the same counts: lines after it are read again,
// lines before it are in the window. The run of the engine goes on over restarts.
//
// # Cheap when nothing happens
//
// The engine is asked when something is there that was not, or is gone: a figure that
// moved is no news. Equal lines collapse before they cost anything.
package watch
