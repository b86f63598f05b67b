package core

// failpoint names a place where a test may end the process. It does nothing outside of tests.
func (s *Store) failpoint(name string) {
	if s.options.hook != nil {
		s.options.hook(name)
	}
}
