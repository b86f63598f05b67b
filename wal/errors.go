package wal

import (
	"errors"
	"fmt"
	"syscall"
)

// Errors of opening.
var (
	// ErrLocked says that another process has the log open for writing.
	ErrLocked = errors.New("log is locked by another process")
)

// Errors of appending.
var (
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("log is closed")
	// ErrSealed says that this process may not write the log: it was opened for reading, or another
	// process writes it now.
	ErrSealed = errors.New("log is sealed")
	// ErrTooLarge says that a record is longer than MaxRecord.
	ErrTooLarge = errors.New("record is too large")
	// ErrFull says that space is missing for the record. It was not kept, and may be appended again
	// when there is space.
	ErrFull = errors.New("log is full")
	// ErrGone says that the log's files were removed, renamed or replaced while it is open. No
	// record is kept until the files are back, or the log is opened again.
	ErrGone = errors.New("the log's files are gone")
	// ErrRetry says that the record was not kept, for a reason other than space, and may be
	// appended again.
	ErrRetry = errors.New("record was not logged, try again")
)

// Errors of reading.
var (
	// ErrTruncated says that the position asked for was truncated away.
	ErrTruncated = errors.New("position is truncated")
	// ErrHole says that positions which should be in the log are not.
	ErrHole = errors.New("positions are missing")
	// ErrNewer says that a newer program wrote what comes next, in a format of its own.
	ErrNewer = errors.New("written by a newer version of rondo")
	// ErrLost says that the log has lost records at its end that the caller wrote or holds. A
	// caller that holds all of them may begin it anew behind them.
	ErrLost = errors.New("the log has lost records")
)

// A TruncatedError says which position of the log is the first that is kept. It wraps ErrTruncated.
type TruncatedError struct{ First Pos }

// Error names the position.
func (e *TruncatedError) Error() string { return fmt.Sprintf("%v: first is %d", ErrTruncated, e.First) }

// Unwrap returns ErrTruncated.
func (e *TruncatedError) Unwrap() error { return ErrTruncated }

// A CorruptError says where a log stops being readable: it is damaged there, or a newer program
// wrote what comes next, and the error wraps ErrNewer.
type CorruptError struct {
	Segment uint64 // id, as in the file's name; 0 is the file mark
	Offset  int64  // of the first byte that is not what it should be
	Place   string // of a log that has no segments: where it is damaged; "" in segments
	Err     error
}

// Error names the place, or segment and offset, and the reason.
func (e *CorruptError) Error() string {
	if e.Place != "" {
		return fmt.Sprintf("%s: %v", e.Place, e.Err)
	}
	if e.Segment == 0 {
		return fmt.Sprintf("file %s, offset %d: %v", markName, e.Offset, e.Err)
	}
	return fmt.Sprintf("segment %d, offset %d: %v", e.Segment, e.Offset, e.Err)
}

// Unwrap gives the reason.
func (e *CorruptError) Unwrap() error { return e.Err }

// appendError wraps an error of the file system in ErrFull or ErrRetry: an appender waits for
// space, or tries again.
func appendError(err error) error {
	var corrupt *CorruptError
	switch {
	case err == nil, errors.As(err, &corrupt), errors.Is(err, ErrGone):
		return err
	case isFull(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("%w: %w", ErrRetry, err)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
