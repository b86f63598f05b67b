package receivertest

import (
	"context"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Nowhere is a receivers.Sink that accepts every series and forgets every sample, for benchmarks of
// a receiver without a store. Every request gets another reference. The zero value is ready. Only
// one goroutine at a time may call Resolve.
type Nowhere struct{ refs core.Ref }

// Resolve gives every request the next reference.
func (n *Nowhere) Resolve(_ context.Context, reqs []receivers.Request) error {
	for i := range reqs {
		n.refs++
		reqs[i].Ref, reqs[i].Definition = n.refs, reqs[i].Define(0)
	}
	return nil
}

// Submit forgets b.
func (*Nowhere) Submit(context.Context, *core.Batch) (receivers.Pending, error) {
	return done{}, nil
}

// Note forgets the note.
func (*Nowhere) Note(context.Context, string, core.Note) error { return nil }

// Describe forgets ds.
func (*Nowhere) Describe(_ context.Context, ds []receivers.Description) ([]error, error) {
	return make([]error, len(ds)), nil
}

// Metadata finds nothing.
func (*Nowhere) Metadata(context.Context, string) (core.Metadata, error) {
	return core.Metadata{}, nil
}

// Last knows no sample.
func (*Nowhere) Last(context.Context, core.Ref) (rra.Time, float64, error) {
	return 0, math.NaN(), nil
}
