package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/wal"
)

// Notes are few and small: all of them are in memory, and the keys that changed
// are written with the catalogue.

const (
	notesPerKey = 16
	notesKeys   = 4096
	maxNote     = 8 << 10 // bytes of a note's texts
)

type storedNote struct {
	Note
	pos wal.Pos
}

// notes keeps the newest notes of each key.
type notes struct {
	mu      sync.Mutex // guards what follows
	byKey   map[string][]storedNote
	order   []string        // keys, the one that changed last at the end
	changed map[string]bool // since the last checkpoint
	dropped map[string]bool
}

func (n *notes) add(key string, note Note, pos wal.Pos) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byKey == nil {
		n.byKey, n.changed, n.dropped = make(map[string][]storedNote), make(map[string]bool), make(map[string]bool)
	}
	list := n.byKey[key]
	if len(list) > 0 && list[len(list)-1].pos >= pos {
		return // replayed
	}
	list = append(list, storedNote{note, pos})
	if len(list) > notesPerKey {
		list = slices.Delete(list, 0, len(list)-notesPerKey)
	}
	n.byKey[key] = list
	n.changed[key] = true
	delete(n.dropped, key)
	if i := slices.Index(n.order, key); i >= 0 {
		n.order = slices.Delete(n.order, i, i+1)
	}
	n.order = append(n.order, key)
	if len(n.order) > notesKeys {
		old := n.order[0]
		n.order = n.order[1:]
		delete(n.byKey, old)
		delete(n.changed, old)
		n.dropped[old] = true
	}
}

// AddNote keeps a note under key (a host, say); the newest 16 a key are kept, of the 4096 keys
// noted last.
func (s *Store) AddNote(ctx context.Context, key string, n Note) error {
	size := len(key) + len(n.Text) + len(n.Severity)
	for _, l := range n.Labels {
		size += len(l.Name) + len(l.Value)
	}
	if key == "" || size > maxNote {
		return fmt.Errorf("note under %.40q of %d bytes: a key and at most %d bytes are needed", key, size, maxNote)
	}
	if n.Time > maxTime || n.Time < -maxTime {
		return fmt.Errorf("note under %.40q: time %d is out of range", key, n.Time)
	}
	rec := appendNote(appendString([]byte{recordNote}, key), n)
	return s.change(ctx, rec, func(t *Ticket) error { s.notes.add(key, n, t.pos); return nil })
}

// Notes returns the notes kept under key, oldest first; those of all keys if key is empty.
func (s *Store) Notes(_ context.Context, key string) (map[string][]Note, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	out := make(map[string][]Note)
	for k, list := range s.notes.byKey {
		if key != "" && k != key {
			continue
		}
		for _, n := range list {
			out[k] = append(out[k], n.Note)
		}
	}
	return out, nil
}

func appendNote(dst []byte, n Note) []byte {
	dst = appendTime(dst, n.Time, 0)
	dst = appendString(appendString(dst, n.Severity), n.Text)
	return appendLabels(dst, n.Labels)
}

func (r *reader) note() (string, Note) {
	key := r.string()
	return key, r.plainNote()
}

func (r *reader) plainNote() Note {
	return Note{Time: r.time(0), Severity: r.string(), Text: r.string(), Labels: r.labels()}
}

func (n *notes) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.changed)+len(n.dropped) > 0
}

// take returns what has changed, as keys and values to put (nil: to delete), and forgets that it has.
// Notes newer than the checkpoint's position may be among them: each carries its own position, so
// that replay does not add it twice.
func (n *notes) take() map[string][]byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make(map[string][]byte)
	for key := range n.changed {
		v := []byte{}
		for _, x := range n.byKey[key] {
			v = binary.AppendUvarint(v, uint64(x.pos))
			v = appendNote(v, x.Note)
		}
		out[key] = v
	}
	for key := range n.dropped {
		out[key] = nil
	}
	clear(n.changed)
	clear(n.dropped)
	return out
}

// back marks what take returned as changed again.
func (n *notes) back(taken map[string][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range taken {
		if _, ok := n.byKey[key]; ok {
			n.changed[key] = true
		} else {
			n.dropped[key] = true
		}
	}
}

func (n *notes) load(tx *bolt.Tx) error {
	n.byKey, n.changed, n.dropped = make(map[string][]storedNote), make(map[string]bool), make(map[string]bool)
	cur := tx.Bucket(bucketNotes).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		r := reader{b: bytes.Clone(v)}
		for len(r.b) > 0 && r.err == nil {
			x := storedNote{pos: wal.Pos(r.uvarint())}
			x.Note = r.plainNote()
			n.byKey[string(k)] = append(n.byKey[string(k)], x)
		}
		if r.err != nil {
			return fmt.Errorf("notes of %q: %w", k, r.err)
		}
		n.order = append(n.order, string(k))
	}
	slices.SortFunc(n.order, func(a, b string) int {
		x, y := n.byKey[a], n.byKey[b]
		if len(x) == 0 || len(y) == 0 {
			return len(x) - len(y)
		}
		return int(x[len(x)-1].pos) - int(y[len(y)-1].pos)
	})
	return nil
}
