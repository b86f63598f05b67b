package core

// failpoint is a place where a test may end the process. It does nothing but in tests.
func (s *Store) failpoint(name string) {
	if s.hook != nil {
		s.hook(name)
	}
}
