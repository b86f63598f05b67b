// Package rrdcachedbench compares rondo's server of rrdcached's protocol with rrdcached itself. It
// sends the same requests to both in one run and measures what they cost. The command is
// `rondo-bench rrdcached`.
package rrdcachedbench
