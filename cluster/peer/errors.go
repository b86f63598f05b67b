package peer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// sentinels are the errors that keep their identity between nodes, by name. Names are part of the
// protocol.
var sentinels = []struct {
	name string
	err  error
}{
	{"core.ErrClosed", core.ErrClosed},
	{"core.ErrReadOnly", core.ErrReadOnly},
	{"core.ErrNotFound", core.ErrNotFound},
	{"core.ErrExists", core.ErrExists},
	{"core.ErrSeriesLimit", core.ErrSeriesLimit},
	{"core.ErrShape", core.ErrShape},
	{"core.ErrMemory", core.ErrMemory},
	{"core.ErrInvalid", core.ErrInvalid},
	{"core.ErrUnavailable", core.ErrUnavailable},
	{"core.ErrLocked", core.ErrLocked},
	{"core.ErrVersion", core.ErrVersion},
	{"core.ErrNewer", core.ErrNewer},
	{"core.ErrBase", core.ErrBase},
	{"core.ErrNoRoom", core.ErrNoRoom},
	{"core.ErrDamaged", core.ErrDamaged},
	{"core.ErrNoFolder", core.ErrNoFolder},
	{"core.ErrWhole", core.ErrWhole},
	{"core.ErrNothingReads", core.ErrNothingReads},
	{"core.ErrRestoring", core.ErrRestoring},
	{"core.ErrNotLeader", core.ErrNotLeader},
	{"core.ErrUnanswered", core.ErrUnanswered},
	{"core.ErrForgotten", core.ErrForgotten},
	{"core.ErrOtherLog", core.ErrOtherLog},
	{"wal.ErrLocked", wal.ErrLocked},
	{"wal.ErrClosed", wal.ErrClosed},
	{"wal.ErrSealed", wal.ErrSealed},
	{"wal.ErrTooLarge", wal.ErrTooLarge},
	{"wal.ErrFull", wal.ErrFull},
	{"wal.ErrGone", wal.ErrGone},
	{"wal.ErrRetry", wal.ErrRetry},
	{"wal.ErrTruncated", wal.ErrTruncated},
	{"wal.ErrHole", wal.ErrHole},
	{"wal.ErrNewer", wal.ErrNewer},
	{"wal.ErrLost", wal.ErrLost},
	{"rra.ErrNoArchive", rra.ErrNoArchive},
	{"context.Canceled", context.Canceled},
	{"context.DeadlineExceeded", context.DeadlineExceeded},
	{"syscall.ENOSPC", syscall.ENOSPC},
	{"syscall.EDQUOT", syscall.EDQUOT},
}

const (
	maxErrorText = 64 << 10 // bytes of an error's text
	maxErrorNest = 4        // errors within an error
)

// error codes an error, which may be nil. What is read is a farError, or a core.RejectedError.
func (k *coder) error(x *error) {
	there := *x != nil && k.nest < maxErrorNest
	if k.flag(&there); !there {
		return
	}
	if k.nest++; k.nest > maxErrorNest {
		k.Fail()
		return
	}
	var f farError
	if k.writes {
		f.become(*x)
	}
	k.text(&f.text)
	list(k, &f.is, codeSentinel)
	optional(k, &f.rejected, codeRejected)
	optional(k, &f.damage, codeDamage)
	optional(k, &f.late, codeLate)
	optional(k, &f.value, codeValue)
	if k.nest--; k.writes {
		return
	}
	if *x = &f; f.rejected != nil {
		*x = f.rejected
	}
}

// become makes e what another node gets of err.
func (e *farError) become(err error) {
	e.text = cutText(err.Error())
	for i := range sentinels {
		if errors.Is(err, sentinels[i].err) {
			e.is = append(e.is, sentinels[i].err)
		}
	}
	if e.rejected, _ = errors.AsType[*core.RejectedError](err); e.rejected == nil {
		e.damage, _ = errors.AsType[*core.DamageError](err)
		e.late, _ = errors.AsType[*rra.TimeError](err)
		e.value, _ = errors.AsType[*rra.ValueError](err)
	}
}

// codeSentinel codes a sentinel. One that this version does not know is nil.
func codeSentinel(k *coder, x *error) {
	var name string
	for i := range sentinels {
		if k.writes && sentinels[i].err == *x {
			name = sentinels[i].name
		}
	}
	k.text(&name)
	for i := range sentinels {
		if !k.writes && sentinels[i].name == name {
			*x = sentinels[i].err
		}
	}
}

func codeRejected(k *coder, x *core.RejectedError) {
	number(k, &x.Accepted)
	number(k, &x.Late)
	number(k, &x.Other)
	list(k, &x.First, func(k *coder, r *core.Rejection) {
		number(k, &r.Index)
		k.cause(&r.Err)
	})
}

func codeDamage(k *coder, x *core.DamageError) {
	k.text(&x.Bucket)
	there := x.Key != nil
	if k.flag(&there); there {
		key := string(x.Key)
		if k.text(&key); !k.writes {
			x.Key = []byte(key)
		}
	}
	k.text(&x.Place)
	k.text(&x.Series)
	number(k, &x.Step)
	number(k, &x.From)
	number(k, &x.To)
	k.cause(&x.Err)
}

func codeLate(k *coder, x *rra.TimeError) {
	number(k, &x.At)
	number(k, &x.Last)
}

func codeValue(k *coder, x *rra.ValueError) {
	number(k, &x.DS)
	k.text(&x.Name)
	k.cause(&x.Err)
}

// cause codes an error that another one must have.
func (k *coder) cause(x *error) {
	if k.error(x); !k.writes && *x == nil {
		*x = errors.New("unknown")
	}
}

// cutText bounds the text of an error.
func cutText(text string) string {
	if len(text) > maxErrorText {
		return strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return text
}

// A farError is an error of another node. It matches what the error there matches.
type farError struct {
	text string
	is   []error // sentinels

	// Details for a program. An error has only the first if it has that one.
	rejected *core.RejectedError
	damage   *core.DamageError
	late     *rra.TimeError
	value    *rra.ValueError
}

func (e *farError) Error() string { return e.text }

func (e *farError) Is(target error) bool { return slices.Contains(e.is, target) }

func (e *farError) Unwrap() (details []error) {
	if e.damage != nil {
		details = append(details, e.damage)
	}
	if e.late != nil {
		details = append(details, e.late)
	}
	if e.value != nil {
		details = append(details, e.value)
	}
	return details
}
