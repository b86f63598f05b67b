package core

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ErrDamaged says that stored bytes are not those that were written, or that some are missing. What
// was asked for is lost or cannot be told; the rest of the store stays readable. Errors that wrap it
// are of type *DamageError, which names the place.
var ErrDamaged = errors.New("damaged")

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
	if utf8.Valid(k) && strings.IndexFunc(string(k), unicode.IsControl) < 0 {
		return fmt.Sprintf("%.200q", k)
	}
	return fmt.Sprintf("%.100x", k)
}

// timeText shows a time in seconds since 1970.
func timeText(at int64) string { return time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05Z") }
