package boltfile

// Size returns the bytes of all pages that are or have been in use, and how many of these bytes
// are in free pages. It returns 0 for what cannot be read.
func (f *File) Size() (bytes, free int64) {
	for range 10 { // a commit between the transaction's begin and the look at the meta page is rare
		t, err := f.Begin()
		if err != nil {
			return 0, 0
		}
		bytes = t.tx.Size()
		m, _, _, err := newestMeta(t.from.file, bytes)
		same := m.tx == uint64(t.tx.ID())
		var list freelist
		if err == nil && same { // t keeps the list from being overwritten
			list, err = findFreelist(t.from.file, m)
		}
		t.End()
		if err != nil || same {
			return bytes, int64(list.count) * m.pageSize
		}
	}
	return bytes, 0
}
