package rowblock

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra/rows"
)

// FuzzBlock reads arbitrary bytes as a row block: as they are, and with the checksums that they
// would have.
func FuzzBlock(f *testing.F) {
	st := &Geometry{Rows: 100, Span: 60, PDPs: 6, Buffer: 8, Slot: 64}
	key := Key(nil, 1, 0, 5, 0, 0)
	seg := func(column, skip int, vals ...float64) Strip {
		return Strip{Column: column, Skip: skip, Rows: len(vals), Data: rows.Append(nil, vals, st.PDPs, nil)}
	}
	f.Add(Append(nil, key, []Strip{seg(0, 0, 1, 2, 3)}))
	f.Add(Append(nil, key, []Strip{seg(0, 5, 1, 2, 3), seg(0, 8, math.NaN(), 4), seg(7, 60, 1e300)}))
	f.Add(Append(nil, key, []Strip{seg(3, 60, 1, 2, 3, 4, 5)}))         // beyond the slot
	f.Add(Append(nil, key, []Strip{seg(1, 10, 1, 2), seg(1, 11, 3)}))   // one over the other
	f.Add([]byte{blockVersion, 0, 0, 255, 255, 2, 0, 0, 0, 0, 0, 0, 0}) // more columns than bytes
	f.Add([]byte{blockVersion, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0})     // none
	f.Fuzz(func(t *testing.T, raw []byte) {
		if b, err := Open(key, raw); err == nil {
			readBlock(t, st, &b)
		}
		raw = bytes.Clone(raw)
		if len(raw) < blockHead {
			return
		}
		binary.LittleEndian.PutUint32(raw[blockFields:], record.Sum(Bucket, key, raw[:blockFields]))
		if b, err := Open(key, raw); err == nil {
			readBlock(t, st, &b)
		}
	})
}

// readBlock reads the columns of b, first as they are, then with the checksums that they would
// have.
func readBlock(t *testing.T, st *Geometry, b *Block) {
	_ = b.Size()
	stride := b.width + record.SumSize
	data := blockHead + (b.Columns-b.first)*stride
	for i := range min(b.Columns+2, 300) {
		if col, err := b.Column(i); err == nil {
			readStrips(t, st, i, col)
		}
		if i < b.first || i >= b.Columns {
			continue
		}
		from, at := 0, blockHead+(i-b.first)*stride
		if i > b.first {
			from = b.end(at - stride)
		}
		if to := b.end(at); from <= to && to <= len(b.data)-data {
			readStrips(t, st, i, b.data[data+from:data+to])
		}
	}
}

func readStrips(t *testing.T, st *Geometry, i int, col []byte) {
	rows := make([]float64, 40)
	p := Target{From: 64*5 + 10, Values: rows, Step: 1}
	_, err := ReadColumn(col, st, 5, &p, nil)
	total := 0
	split := SplitColumn(col, st, func(skip, n int, data []byte) {
		if skip < total || skip+n > int(st.Slot) || len(data) == 0 && n > 0 {
			t.Fatalf("strip of %d rows at %d after %d", n, skip, total)
		}
		total = skip + n
	})
	if (err == nil) != (split == nil) {
		t.Fatalf("column %d reads %v and splits %v", i, err, split)
	}
}
