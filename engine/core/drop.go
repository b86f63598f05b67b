package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// Drop removes a series with its metadata, or the metadata of a path that is no series.
func (s *Store) Drop(ctx context.Context, path string) error {
	key, _, err := cleanPath(path)
	if err != nil {
		return err
	}
	if err := s.damagedName(key); err != nil {
		return fmt.Errorf("drop %q: %w", key, err)
	}
	return s.change(ctx, dropRecord(key, 0), func(t *Ticket) error { return s.applyDrop(t, key, 0) }, key)
}

// dropRecord codes the drop of what has a key; with only, of that series and no other.
func dropRecord(key string, only Ref) []byte {
	return binary.AppendUvarint(record.AppendText([]byte{record.KindDrop}, key), uint64(only))
}

// applyDrop runs in log order. With only it drops that series, and nothing if the key is another's
// by now.
func (s *Store) applyDrop(t *Ticket, key string, only Ref) error {
	ref, err := s.catalogue.lookup(key)
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("drop %q: %w", key, err)
	}
	if only != 0 && (err != nil || ref != only) {
		return fmt.Errorf("drop %q: %w", key, errReplaced)
	}
	if err != nil {
		m, _ := s.metadataOf(key) // what cannot be read cannot be dropped
		if m == nil {
			return fmt.Errorf("drop %q: %w", key, err)
		}
	} else {
		s.catalogue.drop(t, ref, key)
	}
	return s.putMetadata(key, nil)
}
