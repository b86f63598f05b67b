package core

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// ErrDamaged says that stored bytes are not those that were written, or that some are missing. What
// was asked for is lost or cannot be told; the rest of the store stays readable. Errors that wrap
// it are of type *DamageError, which names the place.
var ErrDamaged = errors.New("damaged")

// errMissing says that stored bytes that must be there are not.
var errMissing = errors.New("it is missing")

// A DamageError names damaged bytes of the database and what is lost with them.
type DamageError struct {
	Bucket string // of the database; empty: the pages of the file
	Key    []byte // of the damaged value; nil: the bucket as a whole
	Place  string // where that is, in words, such as the group and slot of a row block; may be empty
	Series string // the path of the series it belongs to; empty: unknown, or several

	// Step, From and To say which rows are lost: those of Step seconds that end after From and not
	// after To, seconds since 1970. All are 0 if the value holds no rows.
	Step, From, To int64

	Err error // what is wrong with the bytes
}

// Error names the series, the rows and the place.
func (e *DamageError) Error() string {
	var b strings.Builder
	if e.Series != "" {
		fmt.Fprintf(&b, "series %q: ", e.Series)
	}
	if e.Step != 0 {
		fmt.Fprintf(&b, "%d s rows from %s to %s are damaged: ", e.Step, timeText(e.From), timeText(e.To))
	} else {
		b.WriteString("damaged: ")
	}
	switch {
	case e.Bucket == "":
		b.WriteString(fileDB)
	case e.Key == nil:
		fmt.Fprintf(&b, "bucket %s", e.Bucket)
	default:
		fmt.Fprintf(&b, "%s %s", e.Bucket, keyText(e.Key))
	}
	if e.Place != "" {
		fmt.Fprintf(&b, " (%s)", e.Place)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns what is wrong with the bytes.
func (e *DamageError) Unwrap() error { return e.Err }

// Is reports whether target is ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// keyText shows a key: as text where it is one, else in hexadecimal.
func keyText(k []byte) string {
	k = k[:min(len(k), 200)] // the length of a damaged one may be anything
	if utf8.Valid(k) && strings.IndexFunc(string(k), unicode.IsControl) < 0 {
		return fmt.Sprintf("%.200q", k)
	}
	return fmt.Sprintf("%.100x", k)
}

// timeText shows a time in seconds since 1970.
func timeText(at int64) string { return time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05Z") }

// damagedValue is the damage of the value of a key.
func damagedValue(bucket, key []byte, err error) *DamageError {
	return &DamageError{Bucket: string(bucket), Key: bytes.Clone(key[:min(len(key), bolt.MaxKeySize)]), Err: err}
}

// damagedRows is damage of a row block of a group: of one column, or of all with column -1. The
// caller holds no lock.
func (s *Store) damagedRows(tx *bolt.Tx, g *group, stream int, slot int64, sub uint16, column int, err error) *DamageError {
	e := damagedValue(bucketRows, rowblock.Key(nil, g.c.id, stream, slot, sub, g.id), err)
	e.Place = fmt.Sprintf("class %d, stream %d, slot %d, sub-block %d, group %d", g.c.id, stream, slot, sub, g.id)
	e.rowsOf(&g.c.streams[stream], slot)
	if column >= 0 {
		e.Place += fmt.Sprintf(", column %d", column)
		e.Series = s.catalogue.pathOf(tx, g.c, g.id, column/g.c.sources)
	}
	s.damage.note(e)
	return e
}

// damagedLag is damage of a record of the bucket lag. The caller holds no lock.
func (s *Store) damagedLag(tx *bolt.Tx, g *group, column, stream int, slot int64, err error) *DamageError {
	e := damagedValue(bucketLag, lagKey(g, column, stream, slot), err)
	e.Place = fmt.Sprintf("class %d, stream %d, slot %d, group %d, column %d", g.c.id, stream, slot, g.id, column)
	e.rowsOf(&g.c.streams[stream], slot)
	e.Series = s.catalogue.pathOf(tx, g.c, g.id, column/g.c.sources)
	s.damage.note(e)
	return e
}

// damagedState is damage of the state record of a group.
func (s *Store) damagedState(g *group, err error) *DamageError {
	e := damagedValue(bucketState, g.stateKey(), err)
	if page, ok := errors.AsType[*DamageError](err); ok {
		e.Err = page.Err
	}
	e.Place = fmt.Sprintf("class %d, group %d", g.c.id, g.id)
	s.damage.note(e)
	return e
}

// rowsOf notes that the rows of a slot are lost.
func (e *DamageError) rowsOf(st *rowblock.Geometry, slot int64) {
	e.Step, e.From, e.To = st.Span, (slot*st.Slot-1)*st.Span, ((slot+1)*st.Slot-1)*st.Span
}

// maxDamage bounds how many places of damage are remembered.
const maxDamage = 10_000

// A damageSeen remembers the places of damage that were met since the store was opened.
type damageSeen struct {
	logger *slog.Logger // may be nil
	mu     sync.Mutex   // guards places
	places map[string]struct{}
}

// note logs a place of damage when it is met first, and counts it.
func (d *damageSeen) note(e *DamageError) {
	place := e.Bucket + "\x00" + string(e.Key) + "\x00" + e.Place
	d.mu.Lock()
	_, known := d.places[place]
	if !known && len(d.places) < maxDamage {
		if d.places == nil {
			d.places = make(map[string]struct{})
		}
		d.places[place] = struct{}{}
	}
	d.mu.Unlock()
	if !known && d.logger != nil {
		d.logger.Error("the database is damaged: what is lost stays unreadable until rondo check --repair", "err", e)
	}
}

// Damaged counts the places of damage that calls have met since the store was opened.
func (s *Store) Damaged() int64 {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	return int64(len(s.damage.places))
}
