// Package writebench sends Prometheus' remote write to rondo and to Prometheus, and compares what
// it costs them.
package writebench
