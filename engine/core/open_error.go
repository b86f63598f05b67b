package core

import (
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// A wayOut is an error of Open that says which command mends the store. It matches ErrDamaged.
type wayOut struct {
	part string // the file or folder of the store
	err  error
	help string
}

func (e *wayOut) Error() string        { return e.part + ": " + e.err.Error() + " (" + e.help + ")" }
func (e *wayOut) Unwrap() error        { return e.err }
func (e *wayOut) Is(target error) bool { return target == ErrDamaged }

// databaseError wraps an error that Open met in the database.
func databaseError(err error) error {
	if _, told := errors.AsType[*wayOut](err); told {
		return err
	}
	if errors.Is(err, ErrNewer) {
		if d, ok := errors.AsType[*DamageError](err); ok { // it is not damaged
			err = fmt.Errorf("%s %s: %w", d.Bucket, damage.KeyText(d.Key), d.Err)
		}
		return newerPart{fileDB + ": " + err.Error()}
	}
	if errors.Is(err, ErrDamaged) {
		return &wayOut{fileDB, err, "rondo check --repair puts what can be read into a new file"}
	}
	return fmt.Errorf("%s: %w", fileDB, err)
}

// A newerPart is an error of a log or a database of which a newer version of rondo wrote a part. It
// matches ErrNewer and ErrVersion, and not ErrDamaged.
type newerPart struct{ text string }

func (e newerPart) Error() string { return e.text }
func (e newerPart) Unwrap() error { return ErrNewer }

// logError wraps an error that Open met in the log.
func logError(err error) error {
	if errors.Is(err, wal.ErrNewer) {
		return newerPart{dirLog + ": " + err.Error()}
	}
	_, corrupt := errors.AsType[*wal.CorruptError](err)
	if corrupt || errors.Is(err, wal.ErrHole) || errors.Is(err, record.ErrParse) {
		return &wayOut{dirLog, err, "rondo wal salvage shows what can be kept, and makes the store usable without the rest"}
	}
	return fmt.Errorf("%s: %w", dirLog, err)
}
