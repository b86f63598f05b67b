package access

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
)

// Commands are a store for the commands of one user, such as rrdtool's verbs. Beside the user's
// folders each method checks the user's role: a command's name does not show what it does. What is
// refused is refused with an error that wraps [ErrDenied].
type Commands struct{ View }

// CommandsOf returns a store for commands of the user of ctx.
func CommandsOf(ctx context.Context, s core.Engine) Commands {
	return Commands{View{s, From(ctx), true}}
}

// Create makes a series. To replace an existing one, as spec may say, needs the role admin.
func (c Commands) Create(ctx context.Context, spec core.Spec) (core.Ref, error) {
	if err := c.user.Need(Write); err != nil {
		return 0, err
	}
	replaces := spec.Overwrite && c.user.Role < Admin
	if replaces {
		spec.Overwrite = false
	}
	ref, err := c.View.Create(ctx, spec)
	if replaces && errors.Is(err, core.ErrExists) {
		return 0, c.user.Need(Admin)
	}
	return ref, err
}

// Update stores samples in one series.
func (c Commands) Update(ctx context.Context, ref core.Ref, b *core.Batch) (int, error) {
	if err := c.may(Write, ref); err != nil {
		return 0, err
	}
	return c.store.Update(ctx, ref, b)
}

// Fetch returns rows of an archive.
func (c Commands) Fetch(ctx context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error) {
	if err := c.may(Read, ref); err != nil {
		return core.Rows{}, err
	}
	return core.Fetch(ctx, c.store, ref, archive, start, end)
}

// Flush applies samples that the reorder window holds.
func (c Commands) Flush(ctx context.Context, refs []core.Ref) error {
	for _, ref := range refs {
		if err := c.may(Read, ref); err != nil {
			return err
		}
	}
	return c.store.Flush(ctx, refs)
}

// Updates are Commands that also store the samples of many series at once.
type Updates struct{ Commands }

// Append stores a batch.
func (u Updates) Append(ctx context.Context, b *core.Batch) error {
	return core.Append(ctx, u.store, b)
}

// Renames returns how many times series were renamed so far.
func (u Updates) Renames() uint64 { return u.store.Renames() }

// Updates returns what stores batches, if the user may store samples in every series.
func (c Commands) Updates() (u Updates, ok bool) {
	return Updates{c}, c.user.Role >= Write && !c.user.Limited()
}
