package core

import (
	"context"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// A fix is what is put in place of a damaged value; a nil value deletes it.
type fix struct{ bucket, key, value []byte }

// rows makes rows that cannot be read unknown.
func (r *repairing) rows(ctx context.Context) error {
	var fixes []fix
	if _, err := r.s.checkWith(ctx, func(f fix, what string) {
		fixes = append(fixes, f)
		r.lose("%s", what)
	}); err != nil || len(fixes) == 0 {
		return err
	}
	return r.s.db.Update(nil, func(tx *boltfile.Tx) error {
		return putFixes(tx, fixes)
	}, nil)
}

// wholeColumns is a row block of the columns of b that can be read.
func wholeColumns(key []byte, b *rowblock.Block, st *rowblock.Geometry) []byte {
	var segs []rowblock.Strip
	for i := range b.Columns {
		col, err := b.Column(i)
		var of []rowblock.Strip
		if err == nil {
			err = rowblock.SplitColumn(col, st, func(skip, rows int, data []byte) {
				of = append(of, rowblock.Strip{Column: i, Skip: skip, Rows: rows, Data: data})
			})
		}
		if err == nil {
			segs = append(segs, of...)
		}
	}
	if len(segs) == 0 {
		return rowblock.Empty(key)
	}
	return rowblock.Append(nil, key, segs)
}
