package router

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/rondo-db/rondo/engine/core"
)

// SetMetadata is core.Store's. If some partitions cannot be reached, out is complete all the same,
// and the error says so as well.
func (r *Store) SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error) {
	if room := r.limit.roomForPaths(int64(len(ms))); room < int64(len(ms)) {
		return r.setWithin(ctx, ms, room)
	}
	return r.setMetadata(ctx, ms)
}

func (r *Store) setMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error) {
	return Split(r, ms, func(x *core.PathMetadata) int { return r.PartitionOf(x.Path) }, func(p int, part []core.PathMetadata) ([]error, error) {
		return order(ctx, r, p, func(e core.Engine) ([]error, error) { return e.SetMetadata(ctx, part) })
	}, failError)
}

// setWithin is SetMetadata where only some paths may be new. A path behind them must have metadata
// already, or be a series.
func (r *Store) setWithin(ctx context.Context, ms []core.PathMetadata, room int64) ([]error, error) {
	out := make([]error, len(ms))
	var kept []core.PathMetadata
	var at []int
	for i := range ms {
		err := ms[i].Check()
		if _, _, bad := core.CleanPath(ms[i].Path); bad == nil && err == nil && !ms[i].Expires {
			if room <= 0 {
				out[i], err = r.pathRoom(ctx, ms[i].Path)
			}
			if err != nil {
				return nil, err
			}
			if out[i] != nil {
				continue
			}
			room--
		}
		kept, at = append(kept, ms[i]), append(at, i) // the partition says what is wrong
	}
	errs, err := r.setMetadata(ctx, kept)
	for k, i := range at {
		out[i] = errs[k]
	}
	return out, err
}

// pathRoom refuses a path that has no metadata and is no series.
func (r *Store) pathRoom(ctx context.Context, path string) (refused, err error) {
	m, err := core.MetadataOf(ctx, r, path)
	if err != nil || !none(&m) {
		return nil, err
	}
	if _, err := r.Lookup(path); !errors.Is(err, core.ErrNotFound) {
		return nil, err
	}
	return fmt.Errorf("metadata of %.200q: %w", path, core.ErrSeriesLimit), nil
}

// AddNote is core.Store's. Each partition keeps as many notes as one store does.
func (r *Store) AddNote(ctx context.Context, key string, n core.Note) error {
	p := Partition(key, r.n)
	ctx = r.numbered(ctx, p, 1)
	return r.write(ctx, p, func(e core.Engine) error { return e.AddNote(ctx, key, n) })
}

// Notes is core.Store's.
func (r *Store) Notes(ctx context.Context, key string) (map[string][]core.Note, error) {
	answers, err := gathered(ctx, r, func(e core.Engine) (map[string][]core.Note, error) { return e.Notes(ctx, key) })
	if answers == nil {
		return nil, err
	}
	out := make(map[string][]core.Note)
	for _, notes := range answers {
		maps.Copy(out, notes)
	}
	return out, err
}
