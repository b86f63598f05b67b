package boltfile

// A pageSet has a bit for each page of the file.
type pageSet []uint64

// newPageSet returns the empty set for a file with a number of pages.
func newPageSet(pages uint64) pageSet { return make(pageSet, pages/64+1) }

func (s pageSet) has(id uint64) bool { return s[id/64]>>(id%64)&1 != 0 }

func (s pageSet) add(id uint64) { s[id/64] |= 1 << (id % 64) }
