// Package alert evaluates the alert rules of deploy/prometheus on the node itself, so that
// what they wake people for is told without a Prometheus too. It is pure: samples and the
// time are arguments, nothing is read or written.
//
//	metrics of the daemon ─► promql.Memory ─► rules ─► Book ─► what is to be told
//
// # Life
//
//	pending ─► firing ─► resolved
//
// as in Prometheus: an alert is what a rule and the labels of one answer name; it is
// pending until the rule's for is over, and goes on firing for keep_firing_for after the
// condition has passed. A test lets promtool evaluate the same series and compares.
//
// # What is more than Prometheus
//
//   - Unknown is not healthy. When the readings are too old, or the GPU no longer answers,
//     series end; an alert that fires on them goes on firing ([Situation.Held]).
//   - One cause is told once. An alert whose fault is an incident on the same GPU already,
//     or follows from one by the catalog, is shown with the incident and told by it
//     ([Covers]). That goes for an incident that was closed while the alert fired, too.
//   - Nothing is told before a second look: the incident of the same reading may be a
//     moment younger.
//   - A silence of incidents silences alerts, by fault or by the rule's name.
//   - [Book] can be stored and taken up: a restart neither resolves nor repeats an alert.
package alert
