package search

// KeepChanges makes the index keep at most n changes of the catalogue between two requests.
func (x *Index) KeepChanges(n int) { x.most = n }

// Reads returns how many last updates were read from the store.
func (x *Index) Reads() int { return x.reads }
