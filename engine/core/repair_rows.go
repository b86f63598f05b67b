package core

import (
	"context"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// A fix is what is put in place of a damaged value; a nil value deletes it.
type fix struct{ bucket, key, value []byte }

// rows makes rows that cannot be read unknown.
func (r *repairing) rows(ctx context.Context) error {
	var fixes []fix
	counts := make(map[groupID][]rowblock.LagCount)
	if _, err := r.s.checkWith(ctx, &mender{
		fix: func(f fix, what string) {
			fixes = append(fixes, f)
			r.lose("%s", what)
		},
		lag: func(id groupID, _, found rowblock.LagCount, what string) {
			counts[id] = append(counts[id], found)
			if what != "" { // else of no series
				r.lose("%s", what)
			}
		},
	}); err != nil {
		return err
	}
	if len(fixes) > 0 {
		if err := r.s.db.Update(nil, func(tx *boltfile.Tx) error { return putFixes(tx, fixes) }, nil); err != nil {
			return err
		}
	}
	for id, found := range counts {
		if err := r.recount(id, found); err != nil {
			return err
		}
	}
	if len(counts) == 0 {
		return nil
	}
	return r.s.Checkpoint(ctx)
}

// recount makes the directory of a group name just the records of the bucket lag that were found.
func (r *repairing) recount(id groupID, found []rowblock.LagCount) error {
	g, err := r.s.catalogue.groupAt(id.class, id.group)
	if err != nil {
		return err
	}
	if err := r.s.loader.lockGroup(g); err != nil {
		return err
	}
	defer g.mu.Unlock()
	dir := g.dir.Clone(len(g.c.streams))
	for _, e := range found {
		i := slices.IndexFunc(dir.Lags, func(x rowblock.LagCount) bool { return x.Index == e.Index })
		switch {
		case i < 0:
		case e.Records == 0:
			dir.Lags = slices.Delete(dir.Lags, i, i+1)
		default:
			dir.Lags[i] = e
		}
	}
	g.dir, g.dirty = dir, true
	return nil
}

// wholeColumns returns a row block of the columns of b that can be read.
func wholeColumns(key []byte, b *rowblock.Block, c *class, stream int, slot int64) []byte {
	var strips []rowblock.Strip
	for i := range b.Columns {
		// A damaged column has no strips.
		strips, _ = b.AppendStrips(strips, &c.streams[stream], stream, slot, i)
	}
	if len(strips) == 0 {
		return rowblock.Empty(key)
	}
	return rowblock.Append(nil, key, strips)
}
