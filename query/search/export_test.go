package search

// KeepChanges makes the index keep at most n changes of the catalogue between two requests.
func (x *Index) KeepChanges(n int) { x.most = n }
