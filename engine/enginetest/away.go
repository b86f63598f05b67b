package enginetest

import (
	"context"
	"fmt"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
)

// ErrAway is the error of an engine of [Away]. It wraps core.ErrUnavailable.
var ErrAway = fmt.Errorf("partition 3 has no leader: %w", core.ErrUnavailable)

// Away returns an engine whose machine is out of reach while away says so: the calls of protocols
// return ErrAway then. Else it is e. It is for tests of what a protocol says.
func Away(e core.Engine, away func() bool) core.Engine { return &awayEngine{Engine: e, away: away} }

type awayEngine struct {
	core.Engine
	away func() bool
}

func (a *awayEngine) err() error {
	if a.away() {
		return ErrAway
	}
	return nil
}

func (a *awayEngine) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	if err := a.err(); err != nil {
		return err
	}
	return a.Engine.Submit(ctx, b, t)
}

func (a *awayEngine) Update(ctx context.Context, ref core.Ref, b *core.Batch) (int, error) {
	if err := a.err(); err != nil {
		return 0, err
	}
	return a.Engine.Update(ctx, ref, b)
}

func (a *awayEngine) Lookup(path string) (core.Ref, error) {
	if err := a.err(); err != nil {
		return 0, err
	}
	return a.Engine.Lookup(path)
}

func (a *awayEngine) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	if err := a.err(); err != nil {
		return nil, err
	}
	return a.Engine.CreateBatch(ctx, specs)
}

func (a *awayEngine) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		if err := a.err(); err != nil {
			yield(core.Series{}, err)
			return
		}
		a.Engine.Select(ctx, q)(yield)
	}
}

func (a *awayEngine) Labels(ctx context.Context, q core.LabelQuery) (core.Labels, error) {
	if err := a.err(); err != nil {
		return core.Labels{}, err
	}
	return a.Engine.Labels(ctx, q)
}

func (a *awayEngine) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	if err := a.err(); err != nil {
		return err
	}
	return a.Engine.Resolve(ctx, refs, fn)
}

func (a *awayEngine) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	err := a.err()
	if err == nil {
		return a.Engine.FetchMany(ctx, spans, fn)
	}
	for i := range spans {
		fn(i, nil, err)
	}
	return err
}

func (a *awayEngine) Info(ref core.Ref) (core.Info, error) {
	if err := a.err(); err != nil {
		return core.Info{}, err
	}
	return a.Engine.Info(ref)
}

func (a *awayEngine) Lasts(ctx context.Context, refs []core.Ref) ([]core.LastTime, error) {
	if err := a.err(); err != nil {
		return nil, err
	}
	return a.Engine.Lasts(ctx, refs)
}

func (a *awayEngine) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	if err := a.err(); err != nil {
		return core.Copy{}, err
	}
	return a.Engine.Export(ctx, ref)
}

func (a *awayEngine) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	return func(yield func(core.PathMetadata, error) bool) {
		if err := a.err(); err != nil {
			yield(core.PathMetadata{}, err)
			return
		}
		a.Engine.ListMetadata(ctx, q)(yield)
	}
}

func (a *awayEngine) Notes(ctx context.Context, key string) (map[string][]core.Note, error) {
	if err := a.err(); err != nil {
		return nil, err
	}
	return a.Engine.Notes(ctx, key)
}
