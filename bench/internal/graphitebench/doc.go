// Package graphitebench sends the same lines of Graphite to rondo and to go-carbon, and measures
// how long each of them takes until all points are stored.
package graphitebench
