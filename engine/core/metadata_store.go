package core

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// How metadata is written: to the log, and by checkpoints to its bucket, key = look-up key.

func appendMetadata(dst []byte, m *Metadata, ifTime bool) []byte {
	dst = record.AppendTime(dst, m.Time, 0)
	var flags byte
	if ifTime {
		flags |= metadataIfTime
	}
	if m.Expired {
		flags |= metadataExpired
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(m.Expire))
	return appendLabels(record.AppendText(dst, m.Text), m.Attributes)
}

func readMetadata(r *record.Reader) (m Metadata, ifTime bool) {
	m.Time = r.Time(0)
	flags := r.Byte()
	if flags > metadataExpired|metadataIfTime {
		r.Fail()
	}
	m.Expired = flags&metadataExpired != 0
	m.Expire = int64(r.Uvarint())
	m.Text = r.Text()
	m.Attributes = readLabels(r)
	return m, flags&metadataIfTime != 0
}

func decodeMetadata(b []byte) (*Metadata, error) {
	r := record.Reader{Rest: b}
	m, _ := readMetadata(&r)
	if r.Err != nil || len(r.Rest) > 0 {
		return nil, record.ErrParse
	}
	return &m, nil
}

// storedMeta checks and decodes a value of the bucket metadata.
func (s *Store) storedMeta(k, v []byte) (*Metadata, error) {
	b, err := record.CutSum(v, bucketMetadata, k)
	if err == nil {
		var m *Metadata
		if m, err = decodeMetadata(b); err == nil {
			return m, nil
		}
	}
	e := damage.InValue(bucketMetadata, k, err)
	s.damage.Note(e)
	return nil, e
}

// readMetadataRecord decodes a metadata record.
func readMetadataRecord(r *record.Reader) []keyed {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
	}
	var ms []keyed
	for i := uint64(0); i < n && r.Err == nil; i++ {
		k := keyed{key: r.Text()}
		k.Metadata, k.ifTime = readMetadata(r)
		ms = append(ms, k)
	}
	return ms
}

// writeMetadata writes all changes. They include everything up to the position of the checkpoint.
// Newer changes among them do no harm, because replay ends with the same metadata.
func (s *Store) writeMetadata() error {
	for {
		md := &s.metadata
		md.mu.RLock()
		keys := slices.Sorted(maps.Keys(md.changed))
		keys = keys[:min(len(keys), metadataPerTx)]
		values := make([]*Metadata, len(keys))
		for i, k := range keys {
			values[i] = md.changed[k]
		}
		stored := md.stored
		md.mu.RUnlock()
		if len(keys) == 0 {
			return nil
		}
		if err := s.db.Update(bucketMetadata, func(tx *boltfile.Tx) error {
			b := tx.Bucket(bucketMetadata)
			if err := tx.SoundNear(bucketMetadata, bytesOf(keys)); err != nil {
				return err
			}
			for i, k := range keys {
				had := b.Get([]byte(k)) != nil
				switch {
				case values[i] == nil && had:
					stored--
				case values[i] != nil && !had:
					stored++
				}
			}
			pairs := make(map[string][]byte, len(keys))
			for i, k := range keys {
				pairs[k] = nil
				if values[i] != nil {
					pairs[k] = appendMetadata(nil, values[i], false)
				}
			}
			if err := putAll(tx, bucketMetadata, pairs); err != nil {
				return err
			}
			return putNumber(tx, metaMetadata, uint64(stored))
		}, func(written bool) {
			if written {
				md.forget(keys, values, stored)
			}
		}); err != nil {
			return fmt.Errorf("write metadata: %w", err)
		}
		s.failpoint("checkpoint-metadata")
		md.mu.RLock()
		left := len(md.changed)
		md.mu.RUnlock()
		if left == 0 || len(keys) < metadataPerTx {
			return nil
		}
	}
}

// forget drops the changes that the database now holds.
func (md *metadata) forget(keys []string, values []*Metadata, stored int64) {
	md.mu.Lock()
	defer md.mu.Unlock()
	md.stored = stored
	for i, k := range keys {
		if m, ok := md.changed[k]; ok && m == values[i] {
			md.bytes -= len(k)
			if m != nil {
				md.bytes -= m.size()
			}
			delete(md.changed, k)
		}
	}
}

// load reads how many paths have metadata.
func (md *metadata) load(tx *boltfile.Tx) error {
	md.changed = make(map[string]*Metadata)
	n, err := metaNumber(tx, metaMetadata)
	md.stored = int64(n)
	md.count.Store(md.stored)
	return err
}

// relabelRecord codes a change of labels.
func relabelRecord(key string, labels []Label) []byte {
	return appendLabels(record.AppendText([]byte{record.KindRelabel}, key), labels)
}

// replayMetadataOp sets the op of t to the effect of a record of metadata or labels.
func (s *Store) replayMetadataOp(t *Ticket, kind byte, r *record.Reader, p wal.Pos) {
	if kind == record.KindRelabel {
		key, labels := r.Text(), readLabels(r)
		t.op.apply = func(t *Ticket) { s.replayMet(p, s.applyRelabel(t, key, labels)) }
		return
	}
	ms := readMetadataRecord(r)
	t.op.apply = func(*Ticket) {
		if err := s.applyMetadata(ms); err != nil {
			s.loader.failed(fmt.Errorf("log position %d: %w", p, err))
		}
	}
}
