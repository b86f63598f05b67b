package core

import "errors"

// A change of the catalogue is logged first and applied afterwards, when what it finds decides what
// it does. Replay must find the same, or series would get other numbers than the groups know. So a
// change that would meet a damaged name is refused before it is logged; and where replay meets one,
// it has been damaged since, and Open refuses the store.

// damagedName returns the damage of the names that stand under keys.
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
