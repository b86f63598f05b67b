package router

import (
	"github.com/rondo-db/rondo/engine/core"
)

// MaxPartitions is the largest number of partitions.
const MaxPartitions = 4096

// partitionShift is where the number of the partition begins in a reference.
const partitionShift = 48

// Partition returns the partition, of n, of a look-up key: a path without leading slash and
// trailing .rrd, as core.CleanPath returns it. It is the 64-bit FNV-1a hash of the key, mixed by
// the last step of MurmurHash3, modulo n. It is the same for ever: the series of a cluster are
// where it has put them.
func Partition(key string, n int) int {
	h := uint64(0xcbf29ce484222325)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	// The low bits of FNV-1a depend on the low bits of each byte only.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return int((h ^ h>>33) % uint64(n))
}

// Inner returns the partition of a reference, counted from 0, and the reference that the series has
// there. The partition is -1 if the reference is of none.
func Inner(ref core.Ref) (p int, in core.Ref) {
	p = int(ref>>partitionShift) - 1
	if p < 0 || p >= MaxPartitions {
		return -1, 0
	}
	return p, ref & (1<<partitionShift - 1)
}

// Outer returns the reference that a router has for a series of partition p. The zero reference
// stays zero.
func Outer(p int, ref core.Ref) core.Ref {
	if ref == 0 {
		return 0
	}
	return core.Ref(p+1)<<partitionShift | ref
}
