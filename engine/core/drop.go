package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// Drop removes a series with its metadata. If the path is no series, Drop removes the metadata of
// the path.
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

// dropRecord codes the drop of a key. If only is not 0, the record drops nothing but the series
// only.
func dropRecord(key string, only Ref) []byte {
	return binary.AppendUvarint(record.AppendText([]byte{record.KindDrop}, key), uint64(only))
}

// applyDrop drops a key. If only is not 0 and the key belongs to another series by now, it drops
// nothing. It runs in log order.
func (s *Store) applyDrop(t *Ticket, key string, only Ref) error {
	ref, err := s.catalogue.lookup(key)
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("drop %q: %w", key, err)
	}
	if only != 0 && (err != nil || ref != only) {
		return fmt.Errorf("drop %q: %w", key, errReplaced)
	}
	if err != nil {
		m, _ := s.metadataOf(key) // metadata that cannot be read counts as missing
		if m == nil {
			return fmt.Errorf("drop %q: %w", key, err)
		}
	} else {
		s.catalogue.drop(t, ref, key)
	}
	return s.putMetadata(key, nil)
}
