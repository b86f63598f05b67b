package engine

// adviseDone tells the operating system that the pages of a block read in bulk are not needed soon,
// so that they do not count as this process's memory.
func (s *Store) adviseDone(b []byte) { dropPages(b) }
