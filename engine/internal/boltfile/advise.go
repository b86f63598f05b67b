package boltfile

// Pages that a checkpoint reads through the mapping would count as memory of this process, although
// they belong to the page cache. The functions here take them out of the mapping. The pages stay in
// the page cache, and a later read maps them again.

// DropPages unmaps the whole pages within b, a piece of the mapping.
func DropPages(b []byte) { dropPages(b) }

// DropMapping unmaps all pages of the file that were read so far.
func (f *File) DropMapping() {
	t, err := f.Begin()
	if err != nil { // a reader will meet the same error and report it
		return
	}
	defer t.End()
	dropRange(t.from.bolt.Info().Data, uintptr(t.tx.Size()))
}
