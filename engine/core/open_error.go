package core

import (
	"errors"
	"fmt"

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
	if errors.Is(err, ErrDamaged) {
		return &wayOut{fileDB, err, "rondo check --repair puts what can be read into a new file"}
	}
	return fmt.Errorf("%s: %w", fileDB, err)
}

// logError wraps an error that Open met in the log.
func logError(err error) error {
	_, corrupt := errors.AsType[*wal.CorruptError](err)
	if corrupt || errors.Is(err, wal.ErrHole) || errors.Is(err, record.ErrParse) {
		return &wayOut{dirLog, err, "rondo wal salvage shows what can be kept, and makes the store usable without the rest"}
	}
	return fmt.Errorf("%s: %w", dirLog, err)
}
