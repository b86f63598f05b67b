package copying

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
)

// A failing engine fails each tenth call for a reason that passes, before or after it was made. It
// fails for good after a number of imports.
type failing struct {
	core.Engine
	calls, imports atomic.Int64
	last           int64
}

var errStop = errors.New("the machine stops")

func (f *failing) fails(call func() error) error {
	switch f.calls.Add(1) % 20 {
	case 0:
		return fmt.Errorf("nobody leads: %w", core.ErrUnavailable)
	case 10:
		if err := call(); err != nil {
			return err
		}
		return fmt.Errorf("no answer: %w", core.ErrUnavailable)
	}
	return call()
}

func (f *failing) CreateBatch(ctx context.Context, specs []core.Spec) (out []core.Created, err error) {
	if f.imports.Add(1) > f.last {
		return nil, errStop
	}
	err = f.fails(func() error {
		out, err = f.Engine.CreateBatch(ctx, specs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (f *failing) AddNote(ctx context.Context, key string, n core.Note) error {
	return f.fails(func() error { return f.Engine.AddNote(ctx, key, n) })
}

func (f *failing) SetMetadata(ctx context.Context, ms []core.PathMetadata) (out []error, err error) {
	err = f.fails(func() error {
		out, err = f.Engine.SetMetadata(ctx, ms)
		return err
	})
	return out, err
}

func (f *failing) Lookup(path string) (ref core.Ref, err error) {
	err = f.fails(func() error {
		ref, err = f.Engine.Lookup(path)
		return err
	})
	return ref, err
}

// An interrupted engine ends the context of its first import, in which each series fails.
type interrupted struct {
	core.Engine
	stop context.CancelFunc
}

func (i *interrupted) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	i.stop()
	out := make([]core.Created, len(specs))
	for k := range out {
		out[k].Err = ctx.Err()
	}
	return out, nil
}

// A lossy engine changes one bit of the state of a series.
type lossy struct{ core.Engine }

func (l *lossy) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	for i := range specs {
		if specs[i].Path == name(5) {
			c := *specs[i].Copy
			c.Rows = slices.Clone(c.Rows)
			c.Rows[0] = slices.Clone(c.Rows[0])
			c.Rows[0][len(c.Rows[0])-1] += 1
			specs[i].Copy = &c
		}
	}
	return l.Engine.CreateBatch(ctx, specs)
}
