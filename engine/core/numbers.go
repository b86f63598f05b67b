package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/rra"
)

// A client of a store on another machine may miss the answer to a change. It makes the change again
// with the same number: see package numbers. A checkpoint writes the table with the catalogue, and
// replay numbers what lies behind. Where a group of the database is ahead of that table, it is not
// known what was refused.

// A Number names a change among all of a partition. The zero Number names none. Its fields are
//
//	Session uint64 // of the client, drawn at random for each of its lives; not 0
//	N       uint64 // from 1 on; grows by one with each change of the session
type Number = numbers.Number

type numberKey struct{}

// WithNumber returns a context whose change has a number. The change may be made again with that
// number, of this store or of another one of the same log: it is done once and has one outcome, or
// an error that wraps ErrForgotten. Submit, Update, CreateBatch, Alter, Rename and AddNote know
// numbers; CreateBatch of copies, Relabel and Drop use one for each part, from n on. Other changes
// do no harm again.
func WithNumber(ctx context.Context, n Number) context.Context {
	return context.WithValue(ctx, numberKey{}, n)
}

// NumberOf returns the number in a context, or the zero Number.
func NumberOf(ctx context.Context) Number {
	n, _ := ctx.Value(numberKey{}).(Number)
	return n
}

// ErrForgotten says that it is not known any more what became of an earlier attempt of a change. It
// wraps ErrUnavailable.
var ErrForgotten = fmt.Errorf("what became of an earlier attempt is not known any more: %w", ErrUnavailable)

// errClaimed says that an earlier attempt of a change has not come to its end.
var errClaimed = fmt.Errorf("an earlier attempt is under way: %w", ErrUnanswered)

// maxRefusal bounds the bytes of the text of a refusal.
const maxRefusal = 256

// refusals are the errors that keep their identity in a refusal, by its Why. Part of the format.
var refusals = []error{nil, nil, nil, ErrNotFound, ErrExists, ErrShape, ErrInvalid, ErrSeriesLimit}

func refusalOf(ref Ref, at rra.Time, err error) numbers.Refusal {
	x := numbers.Refusal{Ref: uint64(ref), At: at}
	if late, ok := errors.AsType[*rra.TimeError](err); ok {
		x.Why, x.Last = numbers.WhyLate, late.Last
		return x
	}
	x.Text = err.Error()
	x.Text = x.Text[:min(len(x.Text), maxRefusal)]
	for i := numbers.WhyLate + 1; i < len(refusals); i++ {
		if errors.Is(err, refusals[i]) {
			x.Why = uint64(i)
		}
	}
	return x
}

// asRefused returns the error of a refusal.
func asRefused(x *numbers.Refusal) error {
	if x.Why == numbers.WhyLate {
		return &rra.TimeError{At: x.At, Last: x.Last}
	}
	return &refusedError{x.Text, refusals[min(x.Why, uint64(len(refusals)-1))]}
}

// A refusedError is what an earlier attempt was refused with.
type refusedError struct {
	text string
	is   error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.is }

// refusedSamples returns why samples of a batch were refused.
func refusedSamples(b *Batch, first []Rejection) (list []numbers.Refusal) {
	for _, r := range first {
		list = append(list, refusalOf(b.samples[r.Index].ref, b.samples[r.Index].at, r.Err))
	}
	return list
}
