// Package damage names stored bytes that are not those that were written.
//
// An Error says where in the database the bytes lie and which rows are lost with them. Seen
// remembers the places that were met, so that each is logged and counted once.
package damage

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
)

// ErrDamaged is the sentinel that every *Error matches.
var ErrDamaged = errors.New("damaged")

// ErrMissing says that bytes that must be stored are not there.
var ErrMissing = errors.New("it is missing")

// File is the name of the database's file, by which an Error names the file as a whole.
const File = "rondo.bolt"

// maxKey bounds the key that an Error keeps: a damaged key may claim any length.
const maxKey = 1 << 15

// An Error names damaged bytes of the database and what is lost with them.
type Error struct {
	Bucket string // bucket of the database; empty: the pages of the file
	Key    []byte // key of the damaged value; nil: the bucket as a whole
	Place  string // the place in words, such as group and slot of a row block; may be empty
	Series string // path of the series that the bytes belong to; empty: unknown, or several

	// Step, From and To say which rows are lost: the rows of Step seconds that end after From and
	// at To or before it, in seconds since 1970. All three are 0 if the value holds no rows.
	Step, From, To int64

	Err error // what is wrong with the bytes
}

// InValue returns the damage of the value that bucket holds under key.
func InValue(bucket, key []byte, err error) *Error {
	return &Error{Bucket: string(bucket), Key: bytes.Clone(key[:min(len(key), maxKey)]), Err: err}
}

// Error names the series, the rows and the place.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Series != "" {
		fmt.Fprintf(&b, "series %q: ", e.Series)
	}
	if e.Step != 0 {
		fmt.Fprintf(&b, "%d s rows from %s to %s are damaged: ", e.Step, TimeText(e.From), TimeText(e.To))
	} else {
		b.WriteString("damaged: ")
	}
	switch {
	case e.Bucket == "":
		b.WriteString(File)
	case e.Key == nil:
		fmt.Fprintf(&b, "bucket %s", e.Bucket)
	default:
		fmt.Fprintf(&b, "%s %s", e.Bucket, KeyText(e.Key))
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
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is ErrDamaged.
func (e *Error) Is(target error) bool { return target == ErrDamaged }

// KeyText shows a key: as quoted text if it is printable, else in hexadecimal. It shows the first
// 200 bytes at most.
func KeyText(k []byte) string {
	k = k[:min(len(k), 200)] // a damaged key may have any length
	if utf8.Valid(k) && strings.IndexFunc(string(k), unicode.IsControl) < 0 {
		return fmt.Sprintf("%.200q", k)
	}
	return fmt.Sprintf("%.100x", k)
}

// TimeText shows a time, given in seconds since 1970, in UTC.
func TimeText(at int64) string { return time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05Z") }

// maxPlaces bounds how many places a Seen remembers.
const maxPlaces = 10_000

// Seen remembers the damaged places that were met. The zero Seen is empty and logs nothing; its
// methods may be called concurrently.
type Seen struct {
	Logger *slog.Logger // gets each place once; may be nil

	mu     sync.Mutex // guards places
	places map[string]struct{}
}

// Note counts and logs a place of damage when it is met for the first time.
func (s *Seen) Note(e *Error) {
	place := e.Bucket + "\x00" + string(e.Key) + "\x00" + e.Place
	s.mu.Lock()
	_, known := s.places[place]
	if !known && len(s.places) < maxPlaces {
		if s.places == nil {
			s.places = make(map[string]struct{})
		}
		s.places[place] = struct{}{}
	}
	s.mu.Unlock()
	if !known && s.Logger != nil {
		s.Logger.Error("the database is damaged: what is lost stays unreadable until rondo check --repair", "err", e)
	}
}

// Count returns how many places have been noted, at most 10,000.
func (s *Seen) Count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.places))
}

// Skipped collects the damage of entries that a list leaves out. The zero Skipped has none.
type Skipped struct {
	n     int
	first error
}

// Skip keeps err if it is damage, and reports whether it is.
func (s *Skipped) Skip(err error) bool {
	if !errors.Is(err, ErrDamaged) {
		return false
	}
	if s.n++; s.n == 1 {
		s.first = err
	}
	return true
}

// None reports whether nothing was skipped.
func (s *Skipped) None() bool { return s.n == 0 }

// Err returns an error that names what was skipped, or nil.
func (s *Skipped) Err() error {
	if s.n < 2 {
		return s.first
	}
	return fmt.Errorf("%d damaged entries are left out, the first: %w", s.n, s.first)
}
