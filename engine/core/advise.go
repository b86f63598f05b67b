package core

// What a checkpoint reads of the database, and what the kernel maps around it, would count as this
// process's memory although it is the page cache's.

// adviseDone tells the operating system that the pages of a block read in bulk are not needed soon.
func (s *Store) adviseDone(b []byte) { dropPages(b) }

// dropMapping unmaps the pages of the database that were read so far. They stay in the page cache;
// a fetch maps again what it needs.
func (s *Store) dropMapping() {
	t, err := s.db.begin()
	if err != nil { // a reader will say so
		return
	}
	defer t.end()
	dropRange(t.from.bolt.Info().Data, uintptr(t.Size()))
}
