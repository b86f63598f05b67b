package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/folderlock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Errors met when a store is opened.
var (
	// ErrLocked says that another process holds the store; the error that wraps it names the
	// process.
	ErrLocked = folderlock.ErrLocked
	// ErrVersion says that the store was written by another version of rondo, in a format of its
	// own.
	ErrVersion = record.ErrVersion
	// ErrNewer says that a newer version of rondo wrote the store, or the next record of the log
	// that it follows. It wraps ErrVersion.
	ErrNewer = record.ErrNewer
)

// Errors met in calls.
var (
	ErrClosed      = errors.New("store is closed")
	ErrReadOnly    = errors.New("store is read-only")
	ErrNotFound    = errors.New("no such series")
	ErrExists      = errors.New("series exists")
	ErrSeriesLimit = errors.New("series limit reached")
	ErrShape       = errors.New("wrong number of values")
	ErrMemory      = errors.New("memory budget exhausted")
	// ErrInvalid says that a name, labels, a definition or a range is not allowed. The same call
	// fails whenever it is made again. The error that matches ErrInvalid says what is wrong.
	ErrInvalid = errors.New("invalid argument")
	// ErrUnavailable says that the series cannot be reached now: the machine that has them is gone,
	// or another one is about to take its place. The same call may succeed later. If the call was
	// to change something, that may have happened nevertheless, unless the error says otherwise.
	ErrUnavailable = errors.New("not available now, try again")
	// ErrUnanswered says that a store on another machine was not reached, or has not answered. It
	// is not known whether the call was done: with the same number (WithNumber) it may be made of
	// another store. It wraps ErrUnavailable.
	ErrUnanswered = fmt.Errorf("the answer is missing: %w", ErrUnavailable)
)

// Errors of the log, for programs that do not import package wal.
var (
	ErrFull      = wal.ErrFull     // the disk has no room, or the log has reached its bound
	ErrRetry     = wal.ErrRetry    // nothing was stored, and the same call may succeed
	ErrTooLarge  = wal.ErrTooLarge // a record is too long
	ErrLogClosed = wal.ErrClosed
	// the log's files were removed or replaced: nothing is stored until they are back
	ErrGone   = wal.ErrGone
	ErrSealed = wal.ErrSealed // the log takes no more records
)

// invalid returns an error that matches ErrInvalid.
func invalid(format string, args ...any) error {
	return &invalidError{fmt.Errorf(format, args...)}
}

// asInvalid returns err as an error that matches ErrInvalid; nil stays nil.
func asInvalid(err error) error {
	if err == nil {
		return nil
	}
	return &invalidError{err}
}

// An invalidError matches ErrInvalid and has the text of its cause.
type invalidError struct{ err error }

func (e *invalidError) Error() string        { return e.err.Error() }
func (e *invalidError) Unwrap() error        { return e.err }
func (e *invalidError) Is(target error) bool { return target == ErrInvalid }

// notFound says that no series has a reference, and shows the reference as the RPC does.
func notFound(ref Ref) error { return fmt.Errorf("ref %d: %w", ref, ErrNotFound) }

// A Rejection says why one sample of a batch was not stored.
type Rejection struct {
	Index int   // position in the batch, from 0
	Err   error // the reason; an error of Append names the series, too
}

// A RejectedError says which samples of a batch were not stored. The other samples were stored.
type RejectedError struct {
	Accepted int         // samples that were stored
	Late     int         // samples that are not after the last update of their series
	Other    int         // samples that were not stored for another reason
	First    []Rejection // the first few that were not stored: see FirstRejections
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%d samples late, %d refused, %d stored: sample %d: %v",
		e.Late, e.Other, e.Accepted, e.First[0].Index, e.First[0].Err)
}

// Unwrap returns the first sample's error.
func (e *RejectedError) Unwrap() error { return e.First[0].Err }

// Gone reports whether the sample was of a series that is not there.
func (r Rejection) Gone() bool { return errors.Is(r.Err, ErrNotFound) }

// FirstRejections returns the first n of all, in order. If none of these is Gone, and one behind
// them is, that one stands last: whoever keeps references goes by it.
func FirstRejections(all []Rejection, n int) []Rejection {
	slices.SortFunc(all, func(a, b Rejection) int { return a.Index - b.Index })
	if i := slices.IndexFunc(all, Rejection.Gone); i >= n {
		all[n-1] = all[i]
	}
	return all[:min(n, len(all))]
}

// Add adds to e what became of n other samples of its batch, which were appended as another batch.
// part says which of them were not stored; nil: all were. as returns what a rejection of the other
// batch is in the batch of e.
func (e *RejectedError) Add(part *RejectedError, n int, as func(Rejection) Rejection) {
	if part == nil {
		e.Accepted += n
		return
	}
	e.Accepted, e.Late, e.Other = e.Accepted+part.Accepted, e.Late+part.Late, e.Other+part.Other
	for _, x := range part.First {
		e.First = append(e.First, as(x))
	}
}

// recordError says that the log record at a position does not parse. kind is the kind of record.
func recordError(kind string, at uint64) error {
	return fmt.Errorf("%s at log position %d: %w", kind, at, record.ErrParse)
}

// A PartialError says that some samples of a batch were not stored because the partition that has
// their series is out of reach, and that the other samples were stored or refused. Only an Engine
// of several partitions returns it. The samples that are missing may be sent again, and all others
// as well: those that were stored are refused then, because they are not after the last update.
type PartialError struct {
	Err      error          // why samples are missing; mostly wraps ErrUnavailable
	Missing  []int          // indices of the samples that were not stored, in order
	Samples  int            // of the batch
	Rejected *RejectedError // how many were stored, and which refused; nil: none was refused
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%d of %d samples not stored: %v", len(e.Missing), e.Samples, e.Err)
}

// Unwrap returns why samples are missing.
func (e *PartialError) Unwrap() error { return e.Err }
