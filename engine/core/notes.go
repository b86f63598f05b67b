package core

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/wal"
)

// Notes are few and small, so memory holds all of them. A checkpoint writes the keys that changed
// together with the catalogue.

const (
	notesPerKey = 16
	notesKeys   = 16384
	notesBytes  = 32 << 20 // of all notes, about
	maxNote     = 8 << 10  // bytes of a note's texts
)

type storedNote struct {
	Note
	pos wal.Pos
}

// notes keeps the newest notes of each key.
type notes struct {
	mu      sync.Mutex               // guards what follows
	byKey   map[string]*list.Element // of order
	order   list.List                // of *noteKey, in the order in which they changed last
	bytes   int
	changed map[string]bool // since the last checkpoint
	dropped map[string]bool
	damage  damage.Skipped // of stored notes, when the store was opened
}

// A noteKey is the notes of one key, oldest first.
type noteKey struct {
	key  string
	list []storedNote
}

func (n *notes) init() {
	n.byKey, n.changed, n.dropped = make(map[string]*list.Element), make(map[string]bool), make(map[string]bool)
	n.order.Init()
	n.bytes, n.damage = 0, damage.Skipped{}
}

func (n *Note) size() int {
	size := len(n.Text) + len(n.Severity)
	for _, l := range n.Labels {
		size += len(l.Name) + len(l.Value)
	}
	return size
}

func (n *notes) add(key string, note Note, pos wal.Pos) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byKey[key]
	if e == nil {
		e = n.order.PushBack(&noteKey{key: key})
		n.byKey[key] = e
		n.bytes += len(key)
	}
	k := e.Value.(*noteKey)
	if len(k.list) > 0 && k.list[len(k.list)-1].pos >= pos {
		return // replayed
	}
	k.list = append(k.list, storedNote{note, pos})
	n.bytes += note.size()
	if len(k.list) > notesPerKey {
		n.bytes -= k.list[0].size()
		k.list = slices.Delete(k.list, 0, 1)
	}
	n.changed[key] = true
	delete(n.dropped, key)
	n.order.MoveToBack(e)
	for n.order.Len() > notesKeys || n.bytes > notesBytes && n.order.Len() > 1 {
		n.forget(n.order.Front())
	}
}

// forget drops the notes of one key. The caller holds n.mu.
func (n *notes) forget(e *list.Element) {
	k := n.order.Remove(e).(*noteKey)
	n.bytes -= len(k.key)
	for i := range k.list {
		n.bytes -= k.list[i].size()
	}
	delete(n.byKey, k.key)
	delete(n.changed, k.key)
	n.dropped[k.key] = true
}

// AddNote stores a note under key, the path of the thing that the note is about. The store keeps
// the newest 16 notes of each key, for the 16384 keys with the newest notes, and 32 MiB in all.
func (s *Store) AddNote(ctx context.Context, key string, n Note) error {
	if size := len(key) + n.size(); key == "" || size > maxNote {
		return invalid("note under %.40q of %d bytes: a key and at most %d bytes are needed", key, size, maxNote)
	}
	if n.Time > MaxTime || n.Time < -MaxTime {
		return invalid("note under %.40q: time %d is out of range", key, n.Time)
	}
	if err := text.Printable(key); err != nil {
		return invalid("note under %.40q: the key %w", key, err)
	}
	if !utf8.ValidString(n.Text) || !utf8.ValidString(n.Severity) {
		return invalid("note under %.40q: its text is no UTF-8", key)
	}
	if err := checkNoteLabels(n.Labels); err != nil {
		return fmt.Errorf("note under %.40q: %w", key, err)
	}
	rec := appendNote(record.AppendText([]byte{record.KindNote}, key), n)
	return s.change(ctx, rec, func(t *Ticket) error { s.notes.add(key, n, t.pos); return nil })
}

// checkNoteLabels returns why a note cannot have these labels, or nil. A note may have a label
// twice, and an empty one.
func checkNoteLabels(labels []Label) error {
	for _, l := range labels {
		for _, s := range []string{l.Name, l.Value} {
			if err := text.Printable(s); err != nil {
				return invalid("label %.40q=%.40q %w", l.Name, l.Value, err)
			}
		}
	}
	return nil
}

// Notes returns the notes under key, and under keys that begin with key and a slash, oldest first.
// If key is empty it returns all notes. If the error wraps ErrDamaged, the notes are those that
// could be read when the store was opened.
func (s *Store) Notes(_ context.Context, key string) (map[string][]Note, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	out := make(map[string][]Note)
	for k, e := range s.notes.byKey {
		if key != "" && k != key && !strings.HasPrefix(k, key+"/") {
			continue
		}
		for _, n := range e.Value.(*noteKey).list {
			out[k] = append(out[k], n.Note)
		}
	}
	return out, s.notes.damage.Err()
}

func appendNote(dst []byte, n Note) []byte {
	dst = record.AppendTime(dst, n.Time, 0)
	dst = record.AppendText(record.AppendText(dst, n.Severity), n.Text)
	return appendLabels(dst, n.Labels)
}

func readNote(r *record.Reader) Note {
	return Note{Time: r.Time(0), Severity: r.Text(), Text: r.Text(), Labels: readLabels(r)}
}

func (n *notes) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.changed)+len(n.dropped) > 0
}

// takeChanges returns the keys that changed and their values (nil: to delete), and marks them as
// unchanged. The values may include notes that are newer than the position of the checkpoint: each
// note carries its own position, so that replay does not add it twice.
func (n *notes) takeChanges() map[string][]byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make(map[string][]byte)
	for key := range n.changed {
		v := []byte{}
		for _, x := range n.byKey[key].Value.(*noteKey).list {
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

// back marks the keys that takeChanges returned as changed again.
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

// load reads all notes. It skips damaged ones, and Notes reports them later.
func (n *notes) load(s *Store, tx *boltfile.Tx) {
	n.init()
	var all []*noteKey
	for key, v := range tx.Each(bucketNotes) {
		k, err := decodeNotes(key, v)
		if err != nil {
			e := damage.InValue(bucketNotes, key, err)
			s.damage.Note(e)
			n.damage.Skip(e)
			continue
		}
		n.bytes += len(key)
		for i := range k.list {
			n.bytes += k.list[i].size()
		}
		all = append(all, k)
	}
	last := func(k *noteKey) wal.Pos { return k.list[len(k.list)-1].pos }
	slices.SortFunc(all, func(a, b *noteKey) int { return cmp.Compare(last(a), last(b)) })
	for _, k := range all {
		n.byKey[k.key] = n.order.PushBack(k)
	}
}

// decodeNotes checks and decodes the notes of one key.
func decodeNotes(key, v []byte) (*noteKey, error) {
	b, err := record.CutSum(v, bucketNotes, key)
	if err != nil {
		return nil, err
	}
	r := record.Reader{Rest: bytes.Clone(b)}
	k := &noteKey{key: string(key)}
	for len(r.Rest) > 0 && r.Err == nil {
		x := storedNote{pos: wal.Pos(r.Uvarint())}
		x.Note = readNote(&r)
		k.list = append(k.list, x)
	}
	if r.Err != nil || len(k.list) == 0 {
		return nil, record.ErrParse
	}
	return k, nil
}

// A Change is a change of the catalogue, as a [Watch] reports it.
type Change struct {
	// Was is the path that the series had before: of a series that is dropped, renamed or replaced.
	// If the path cannot be read any more, it lacks a trailing .rrd.
	Was string
	// Path is the path that the series has now, with Ref and Labels. It is empty if the series was
	// dropped.
	Path   string
	Ref    Ref
	Labels []Label
	// Metadata says that the attributes of Path, which lacks a trailing .rrd, have changed, and
	// nothing else. Path may be no series.
	Metadata bool
}

// A Watch collects the changes of a store's catalogue, in their order, until they are taken.
// Its methods may be called at the same time.
type Watch struct {
	most int
	take func() (changes []Change, complete bool) // nil: what Add has given is taken
	end  func()

	mu      sync.Mutex // guards changes and lost; catalogue.mu may be held when it is taken
	changes []Change
	lost    bool
}

type watches struct {
	count atomic.Int32 // the length of all
	mu    sync.Mutex   // guards all; catalogue.mu may be held when it is taken
	all   []*Watch
}

// Watch begins to collect the changes of the catalogue. A watch keeps at most most changes. When
// more come before Take is called, it forgets them all. Without a watch nothing is collected.
func (s *Store) Watch(most int) *Watch {
	ws := &s.catalogue.watches
	w := &Watch{most: most}
	w.end = func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		ws.all = slices.DeleteFunc(ws.all, func(x *Watch) bool { return x == w })
		ws.count.Store(int32(len(ws.all)))
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.all = append(ws.all, w)
	ws.count.Store(int32(len(ws.all)))
	return w
}

// NewWatch returns a watch of an Engine other than a Store. Take and End call take and end, which
// may be called at the same time and again after end.
func NewWatch(take func() (changes []Change, complete bool), end func()) *Watch {
	return &Watch{take: take, end: end}
}

// CollectWatch returns a watch of at most most changes, which somebody gives it. End calls end,
// perhaps again.
func CollectWatch(most int, end func()) *Watch { return &Watch{most: most, end: end} }

// Take returns the changes since the last Take. complete is false if changes were forgotten since
// the watch began: whoever follows the catalogue must read it anew, behind a new watch.
func (w *Watch) Take() (changes []Change, complete bool) {
	if w.take != nil {
		return w.take()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	changes, w.changes = w.changes, nil
	return changes, !w.lost
}

// End ends the watch. It may be called again.
func (w *Watch) End() {
	w.end()
	w.Lose()
}

// Lose says that changes may be missing from now on.
func (w *Watch) Lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes, w.lost = nil, true
}

// Add gives a change to a watch.
func (w *Watch) Add(c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.lost:
	case len(w.changes) == w.most:
		w.changes, w.lost = nil, true
	default:
		w.changes = append(w.changes, c)
	}
}

func (ws *watches) report(c Change) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.all {
		w.Add(c)
	}
}

// reportOp adds a change of the catalogue to every watch.
func (ws *watches) reportOp(o *catOp) {
	if ws.count.Load() == 0 {
		return
	}
	c := Change{Ref: o.ref}
	if o.old != nil {
		c.Was = o.old.path
		if c.Was == "" { // it cannot be read
			c.Was = o.key
		}
	}
	if o.add != nil {
		c.Path, c.Labels = o.add.path, o.add.labels
	}
	ws.report(c)
}
