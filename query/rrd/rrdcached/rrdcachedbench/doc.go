// Package rrdcachedbench holds rondo's server of rrdcached's protocol against rrdcached itself: the same requests to both, in
// one run, and what they cost. The command line has it as `rondo bench rrdcached`.
package rrdcachedbench
