// Package diagnose chooses the best explanation: from signals and the catalog it
// concludes which faults happened, which signals are only their consequences, and
// what remains unexplained. It is pure: no I/O, no clock, no goroutines, so every
// incident replays to the same findings.
//
// # How it reasons
//
// The method is abduction over declared relations (parsimonious covering).
//
//  1. Every signal that a fault names as trigger makes a hypothesis: that fault, on
//     that subject (GPU, node, process, port, switch, by the fault's scope). Several
//     triggers on one subject make one hypothesis.
//  2. A hypothesis is scored in log-odds: the strongest trigger, what supports and
//     what speaks against it, and a small term for how common the fault is.
//  3. A hypothesis owns its triggers and supports, and explains what the catalog
//     lists as its consequences, within a time window and a subject relation.
//  4. Hypothesis A beats B when A owns or explains every trigger of B. When both
//     beat each other the score decides, then the earlier one. What nobody beats is
//     a root cause. So Xid 45, NCCL timeouts and the like drop out when an earlier
//     failure is known, and stand when nothing else explains them.
//  5. An abnormal signal that no root owns or explains is reported as unexplained.
//     It is never dropped.
//
// The result is a function of the multiset of signals: [Engine.Add] in any order,
// in any pieces, gives what one call with all gives. Time orders signals where it is
// known; where it is not, the position in the input does, and time windows pass.
//
// # Confidence
//
// The score becomes a probability with a logistic whose two numbers (confidence.go)
// are fitted to cases with known answers; rivals that share the same evidence take
// their part. The catalog's strength words are the only place where evidence is
// weighed (strength.go).
//
// Not done: learning weights per fault. There are far fewer incidents with a proven
// cause than faults; words that a reviewer can argue with are worth more.
package diagnose
