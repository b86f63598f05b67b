// Package spread has sums, counts, averages, least and largest values of an expression of PromQL
// evaluated by the partitions of a cluster, each over its own series, on the node that has it. Only
// the results go to the node that was asked, which puts them together and evaluates the rest of the
// expression with Prometheus' engine.
//
// The answer is the one that the engine gives over all series:
//   - min, max, count and group to the last bit, and so sums of integers below 2^53.
//   - Other sums and averages are rounded in another order. A sum is off by less than two units in
//     the last place of the largest sum that a partition has.
//
// What cannot be put together is evaluated as a whole: see docs/decisions/0031. So is an expression
// that a partition refuses, for whatever reason, so that errors come from the whole. A partition
// that cannot be reached fails the query.
package spread
