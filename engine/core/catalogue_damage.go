package core

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// A change of the catalogue is logged first and applied afterwards, when what it finds decides what it does. Replay
// must find the same, or series would get other numbers than the groups know. So a change that would meet a damaged
// name is refused before it is logged; and where replay meets one, it has been damaged since, and Open refuses the store.

// damagedName returns the damage of the names that stand under keys.
func (s *Store) damagedName(keys ...string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	for _, key := range keys {
		if _, err := s.lookup(key); errors.Is(err, ErrDamaged) {
			return err
		}
	}
	return nil
}

// passDamaged takes those out of plan whose names are damaged.
func (s *Store) passDamaged(plan []planned, out []Created) []planned {
	var damaged error
	err := s.db.View(bucketNames, func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketNames)
		kept := plan[:0]
		for _, p := range plan {
			var err error
			if v := b.Get([]byte(p.key)); v != nil {
				_, err = s.decodeName([]byte(p.key), v)
			} else {
				err = s.db.absent(tx, bucketNames, []byte(p.key))
			}
			if err != nil && !s.catalogue.overlaid(p.key) {
				out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, err)
				damaged = err
				continue
			}
			kept = append(kept, p)
		}
		plan = kept
		return nil
	})
	if err != nil && damaged == nil { // none can be looked up
		for _, p := range plan {
			out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, err)
		}
		return nil
	}
	return plan
}

// overlaid says whether what is stored under a name does not count any more.
func (cat *catalogue) overlaid(key string) bool {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	_, ok := cat.names[key]
	return ok
}

// whileReplaying makes err, if it is damage, the error of Open, while that replays the log.
func (s *Store) whileReplaying(err error) error {
	if s.replaying && errors.Is(err, ErrDamaged) {
		s.replayError(err)
	}
	return err
}
