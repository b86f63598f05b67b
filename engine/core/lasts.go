package core

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/rra"
)

// A LastTime is the time of the last update of a series.
type LastTime struct {
	Time  rra.Time
	There bool // the series exists
}

// A LastsReader is an Engine that tells the times of many series in fewer calls to other machines
// than Last takes.
type LastsReader interface {
	// Lasts returns the times of the last updates of series, in the order of refs. The error is one
	// of Last, but for a series that does not exist.
	Lasts(ctx context.Context, refs []Ref) ([]LastTime, error)
}

// Lasts returns the times of the last updates of series of an engine, in the order of refs. The
// error is ctx's, or one of Last, but for a series that does not exist.
func Lasts(ctx context.Context, e Engine, refs []Ref) ([]LastTime, error) {
	if x, ok := e.(LastsReader); ok {
		return x.Lasts(ctx, refs)
	}
	out := make([]LastTime, len(refs))
	for i, ref := range refs {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at, err := e.Last(ref)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		out[i] = LastTime{at, err == nil}
	}
	return out, nil
}
