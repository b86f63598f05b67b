package search

import (
	"hash/fnv"
	"strconv"
	"testing"
)

// TestChosenNamesDoNotCollide: a sender could choose names whose hashes by FNV lie in one place of
// the table, so that each new one was compared with all before it.
func TestChosenNamesDoNotCollide(t *testing.T) {
	const places = 1 << 12
	var names texts
	for i := 0; names.len() < 300; i++ {
		name := strconv.Itoa(i)
		h := fnv.New64a()
		_, _ = h.Write([]byte(name)) // never fails
		if sum := h.Sum64(); (sum^sum>>32)%places == 0 {
			names.add(name)
		}
	}
	// Alone a name stands where its hash says; each further one is at most some places behind it.
	compared := 0
	for id := uint32(1); int(id) <= names.len(); id++ {
		names.table.find(hashOf(names.text(id)), func(other uint32) bool { compared++; return other == id })
	}
	if compared > 10*names.len() {
		t.Errorf("%d names are found by %d comparisons", names.len(), compared)
	}
}
