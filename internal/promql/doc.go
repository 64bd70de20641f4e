// Package promql evaluates the part of Prometheus' query language in which the alert
// rules of deploy/prometheus are written, over series that the daemon keeps itself. With
// it one list of rules serves both: who has a Prometheus loads the file there, who has
// none is told by the daemon.
//
// Prometheus' own engine was not taken: with its storage it costs more memory than the
// whole daemon may use. What is here is what the rules need: selectors with matchers,
// ranges and offsets, comparisons and arithmetic with vector matching, and, or, unless,
// a few functions and aggregations. Anything else is an error when a rule is read, never
// another answer. A test in package alert lets promtool evaluate the same series.
//
// [Memory] keeps the series: equal samples in a row are one run with a count, so that a
// day of a state that does not change costs as much as a minute of it.
//
// # Sources
//
//   - language: https://prometheus.io/docs/prometheus/latest/querying/basics/, …/operators/, …/functions/
//   - staleness and look-back: https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness
//   - extrapolation of increase: https://github.com/prometheus/prometheus/blob/main/promql/functions.go (extrapolatedRate)
package promql
