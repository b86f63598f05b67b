package peer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
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

// failureOf returns err as it is sent; nil stays nil.
func failureOf(err error) *peerv1.Failure { return failureWithin(err, maxErrorNest) }

func failureWithin(err error, nest int) *peerv1.Failure {
	if err == nil || nest == 0 {
		return nil
	}
	nest--
	f := &peerv1.Failure{Text: cutText(err.Error())}
	for i := range sentinels {
		if errors.Is(err, sentinels[i].err) {
			f.Is = append(f.Is, sentinels[i].name)
		}
	}
	if e, ok := errors.AsType[*core.RejectedError](err); ok {
		f.Rejected = &peerv1.Rejected{Accepted: int64(e.Accepted), Late: int64(e.Late), Other: int64(e.Other)}
		for _, r := range e.First {
			f.Rejected.Index = append(f.Rejected.Index, int64(r.Index))
			f.Rejected.Why = append(f.Rejected.Why, failureWithin(r.Err, nest))
		}
		return f
	}
	if e, ok := errors.AsType[*core.DamageError](err); ok {
		f.Damage = &peerv1.Damage{
			Bucket: e.Bucket, Key: e.Key, Place: e.Place, Series: e.Series, Step: e.Step, From: e.From, To: e.To,
			Why: failureWithin(e.Err, nest),
		}
	}
	if e, ok := errors.AsType[*rra.TimeError](err); ok {
		f.Late = &peerv1.LateTime{At: int64(e.At), Last: int64(e.Last)}
	}
	if e, ok := errors.AsType[*rra.ValueError](err); ok {
		f.Value = &peerv1.BadValue{Ds: int64(e.DS), Name: e.Name, Why: failureWithin(e.Err, nest)}
	}
	return f
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
	is   []error
	as   []error // details for a program
}

func (e *farError) Error() string { return e.text }

func (e *farError) Is(target error) bool {
	return slices.Contains(e.is, target)
}

func (e *farError) Unwrap() []error { return e.as }

// errorOf is the inverse of failureOf.
func errorOf(f *peerv1.Failure) error {
	if f == nil {
		return nil
	}
	if r := f.GetRejected(); r != nil && len(r.GetIndex()) > 0 && len(r.GetWhy()) == len(r.GetIndex()) {
		e := &core.RejectedError{Accepted: int(r.GetAccepted()), Late: int(r.GetLate()), Other: int(r.GetOther())}
		for i, index := range r.GetIndex() {
			e.First = append(e.First, core.Rejection{Index: int(index), Err: errorOf(r.GetWhy()[i])})
		}
		return e
	}
	e := &farError{text: f.GetText()}
	for _, name := range f.GetIs() {
		for i := range sentinels {
			if sentinels[i].name == name {
				e.is = append(e.is, sentinels[i].err)
			}
		}
	}
	if d := f.GetDamage(); d != nil {
		e.as = append(e.as, &core.DamageError{
			Bucket: d.GetBucket(), Key: d.Key, Place: d.GetPlace(), Series: d.GetSeries(), Step: d.GetStep(), From: d.GetFrom(), To: d.GetTo(),
			Err: orUnknown(d.GetWhy()),
		})
	}
	if l := f.GetLate(); l != nil {
		e.as = append(e.as, &rra.TimeError{At: rra.Time(l.GetAt()), Last: rra.Time(l.GetLast())})
	}
	if v := f.GetValue(); v != nil {
		e.as = append(e.as, &rra.ValueError{DS: int(v.GetDs()), Name: v.GetName(), Err: orUnknown(v.GetWhy())})
	}
	return e
}

// orUnknown is errorOf for a cause that an error must have.
func orUnknown(f *peerv1.Failure) error {
	if f == nil {
		return errors.New("unknown")
	}
	return errorOf(f)
}

// failuresOf returns failures that have a place each; one without text stands for nil.
func failuresOf(errs []error) []*peerv1.Failure {
	out := make([]*peerv1.Failure, len(errs))
	for i, err := range errs {
		if out[i] = failureOf(err); out[i] == nil {
			out[i] = &peerv1.Failure{}
		}
	}
	return out
}

// errorsOf is the inverse of failuresOf, for n errors.
func errorsOf(fs []*peerv1.Failure, n int) ([]error, error) {
	if len(fs) != n {
		return nil, malformed("%d outcomes for %d parts", len(fs), n)
	}
	out := make([]error, n)
	for i, f := range fs {
		if f.GetText() != "" {
			out[i] = errorOf(f)
		}
	}
	return out, nil
}

// isDamage reports whether an error says that something is damaged.
func isDamage(err error) bool { return errors.Is(err, core.ErrDamaged) }
