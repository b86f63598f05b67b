package core

import "errors"

// A change of the catalogue is logged first and applied afterwards. What it does depends on the
// catalogue that it finds. Replay must find the same catalogue, or series would get other numbers
// than their groups know. So a change that would meet a damaged name is refused before it is
// logged. If replay meets a damaged name, the name was damaged later, and Open refuses the store.

// damagedName returns the damage of the names under keys, or nil.
func (s *Store) damagedName(keys ...string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	for _, key := range keys {
		if _, err := s.catalogue.lookup(key); errors.Is(err, ErrDamaged) {
			return err
		}
	}
	return nil
}
