package core

import (
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// applyRecord applies what a logged record of samples holds for the groups of shard sh.
func (s *Store) applyRecord(sh *shard, pos wal.Pos, rec []byte) error {
	sh.mu.Lock() // a snapshot must not see a part of the record
	defer sh.mu.Unlock()
	r := record.Reader{Rest: rec}
	r.Byte()
	var at rra.Time
	for len(r.Rest) > 0 && r.Err == nil {
		h := readRun(&r, at)
		at = h.at
		if r.Err != nil {
			break
		}
		g, err := s.catalogue.groupAt(h.class, h.group)
		if s.options.salvage.lostGroup(groupID{h.class, h.group}) {
			continue
		}
		if err != nil {
			return fmt.Errorf("log position %d: %w", pos, err)
		}
		if g.shard != sh.id {
			continue
		}
		if err := s.applyRun(sh, g, pos, h); err != nil {
			return err
		}
	}
	if r.Err != nil {
		return recordError("samples", uint64(pos))
	}
	return nil
}

// applyRun applies one decoded run, unless the group has already seen it.
func (s *Store) applyRun(sh *shard, g *group, pos wal.Pos, h runHeader) error {
	if err := s.loader.lockGroup(g); err != nil {
		return s.passDamagedGroup(err)
	}
	defer g.mu.Unlock()
	g.used = true
	return sh.applyBody(sh, g, pos, h)
}

// passDamagedGroup turns the error of a damaged group into nil, so that replay goes on. The log
// does not reach back far enough to make the state anew, and other series must not wait for a
// repair.
func (s *Store) passDamagedGroup(err error) error {
	if errors.Is(err, ErrDamaged) {
		return nil // the damage is logged and counted already
	}
	return err
}
