package placement

// score says how well a node suits a partition: the higher the better. It is a hash of both, part
// of the protocol between nodes: nodes of different versions must agree.
func score(partition int, node string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(node) {
		h = (h ^ uint64(node[i])) * prime
	}
	// FNV-1a leaves the upper bits of short inputs nearly alike, so a finalizer mixes them.
	h ^= uint64(partition+1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
