package receivertest

import (
	"context"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// Nowhere is a receivers.Sink that makes every series and keeps nothing, for benchmarks of all that
// comes before the store. Every request gets a reference of its own. The zero value is ready;
// Resolve is for one goroutine at a time.
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
