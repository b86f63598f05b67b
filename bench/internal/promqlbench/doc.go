// Package promqlbench asks rondo and Prometheus the same queries about the same samples, and
// compares how long they take and what they cost.
package promqlbench
