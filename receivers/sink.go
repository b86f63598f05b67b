package receivers

import (
	"context"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Sink takes samples in the order they arrived. Its methods may be called concurrently.
type Sink interface {
	// Resolve fills in Ref, Definition and Err of every request. Series that are
	// not there are made, all with one wait. The error is for what concerns all of
	// reqs (the store is closed, ctx has ended); then the requests say nothing.
	Resolve(ctx context.Context, reqs []Request) error

	// Submit starts to store b and returns; batches are applied in the order of the
	// calls. b must not be touched until the Pending's Wait has returned.
	// It may block while the store is short of memory, until ctx ends.
	Submit(ctx context.Context, b *core.Batch) (Pending, error)

	// Note keeps an event that is not a number under key, a host say.
	Note(ctx context.Context, key string, n core.Note) error

	// Describe keeps metadata, all with one wait, in place of what was kept of the same paths.
	// out[i] is nil or why ds[i] was not kept: ErrSenderLimit, core.ErrSeriesLimit.
	Describe(ctx context.Context, ds []Description) (out []error, err error)

	// Metadata returns what is kept of a path; the zero Metadata if nothing is.
	Metadata(ctx context.Context, path string) (core.Metadata, error)
}

// A Description is metadata of one path. A path that is new counts against its sender as a series
// does.
type Description struct {
	core.PathMetadata
	Sender string
}

// The attribute of metadata that says what becomes of a path that expires: with the value
// ExpireDelete its series is dropped; otherwise the rows stay, and only the metadata is forgotten.
const (
	AttributeOnExpiry = "on_expiry"
	ExpireDelete      = "delete"
)

// A Pending is a batch on its way. Wait returns once it is durable and applied; the
// error is a *core.RejectedError where some of its samples were refused. It is called once.
type Pending interface{ Wait() error }

// An Identity is what a series is called: the path that addresses it, unique and
// made with [AppendComponent], and its labels. A label that is empty is left out.
type Identity struct {
	Path   string
	Labels []core.Label
}

// A Request asks for the reference of one series.
type Request struct {
	Identity
	// Sender is who the series is counted against: the protocol's sending host, or
	// else the address.
	Sender string
	// Time is the time of the first sample; a new series starts one second before
	// the whole second it lies in.
	Time rra.Time
	// Define returns the definition of a new series. It is called only for a series
	// that is not there, with the step that a policy prescribes or 0 for the protocol's own.
	Define func(step int64) *rra.Definition
	// Relabel gives a series that is there the labels of Identity.
	Relabel bool

	// Ref is the series, once resolved.
	Ref core.Ref
	// Definition is what the series keeps, which for one that was there may differ
	// from what Define returns. It is shared: do not change it.
	Definition *rra.Definition
	// Err says why there is no series: ErrSenderLimit, core.ErrSeriesLimit, a bad definition.
	Err error
}

// Append stores b and returns once that is durable: Submit, then Wait.
func Append(ctx context.Context, s Sink, b *core.Batch) error {
	p, err := s.Submit(ctx, b)
	if err != nil {
		return err
	}
	return p.Wait()
}
