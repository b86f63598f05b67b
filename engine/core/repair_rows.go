package core

import (
	"context"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"
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
	return r.s.db.Update(nil, func(tx *bolt.Tx) error {
		return putFixes(tx, fixes)
	}, nil)
}

// wholeColumns is a row block of the columns of b that can be read.
func wholeColumns(key []byte, b *block, st *stream) []byte {
	var segs []segment
	for i := range b.columns {
		col, err := b.column(i)
		var of []segment
		if err == nil {
			err = splitColumn(col, st, func(skip, rows int, data []byte) {
				of = append(of, segment{column: i, skip: skip, rows: rows, data: data})
			})
		}
		if err == nil {
			segs = append(segs, of...)
		}
	}
	if len(segs) == 0 {
		return emptyBlock(key)
	}
	return appendBlock(nil, key, segs)
}

// emptyBlock is a row block without rows: all are unknown.
func emptyBlock(key []byte) []byte {
	b := []byte{blockVersion, 1, 0, 2}
	head := headSum(key, b)
	b = binary.LittleEndian.AppendUint32(b, head)
	b = append(b, 0, 0)
	return binary.LittleEndian.AppendUint32(b, columnSum(head, 0, nil))
}
