// Package incident is findings over time: the same answer of the engine, seen again and
// again, becomes one numbered incident with a life of its own. It is pure: the clock is
// an argument, nothing is read or written; package store keeps what it says.
//
// # Life
//
//	open ─► acknowledged ─► acting ─► verifying ─► closed
//	  ▲__________________________________│___________│   reopened when it comes back
//
// An incident is a fault on a subject ([Identity]): node and GPU, port, switch or
// program, whatever the fault is about. GPUs are compared by every name they have, so an
// incident opened by PCI address is found again by UUID.
//
//   - Observing an answer is idempotent: answers are absolute, counts are those of the
//     engine's run so far ([Mark] remembers what was counted already).
//   - What the engine concludes anew from more signals is a revision of the incident, not
//     a second one: evidence that moves from one finding to another takes its incident
//     along.
//   - A recurrence within [Policy.ReopenWindow] of closing reopens; later it is a new
//     incident that names the old one. The second occurrence of a fault of the machine
//     moves the action one step up the ladder; so does each repair that did not hold.
//   - A condition that a reading tells (and that can come and go) is visible only after it
//     lasted; a critical one, and everything that a log line proves, at once. One that
//     keeps coming and going becomes visible too, as flapping.
//   - Closing needs a [Verification] that passed after the last occurrence, or force with
//     a reason that is kept.
//
// Every transition is an [Event] with time, who and why. What outlets must tell is a
// [Change]; invisible incidents have none.
//
// # Clock
//
// Time may jump. Spans are never negative, and a jump back moves running spans to the new
// now and is itself a change; order comes from sequence numbers, never from times.
package incident
