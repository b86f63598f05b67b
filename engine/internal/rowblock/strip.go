package rowblock

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra/rows"
)

// A Strip is consecutive rows of one column and one slot, coded by package rows. A column of a
// block is strips. A strip holds at most [MaxMixed] rows, or more if all have one value.
type Strip struct {
	Column int // index of the series in its group * sources + source
	Skip   int // rows of the slot before the first row of the strip
	Rows   int
	Data   []byte
}

// CompareStrips orders the strips of a slot as blocks hold them: by column and first row.
func CompareStrips(a, b Strip) int { return cmp.Or(a.Column-b.Column, a.Skip-b.Skip) }

// Size returns how many bytes Append writes.
func (s *Strip) Size() int {
	return record.UvarintSize(s.Skip) + record.UvarintSize(s.Rows) + len(s.Data)
}

// Append appends the strip as a column holds it: rows skipped, rows, coded rows.
func (s *Strip) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.Skip))
	dst = binary.AppendUvarint(dst, uint64(s.Rows))
	return append(dst, s.Data...)
}

// Join codes neighbouring strips of a column as one. It does not spell out a long run of one value:
// neighbouring runs of the same value become one run, and any other strip beside a run stays apart.
func Join(strips []Strip, st *Geometry) ([]Strip, error) {
	out := strips[:0:0]
	var vals []float64
	for i := 0; i < len(strips); {
		run := strips[i].longRun(st)
		j := i + 1
		for j < len(strips) && strips[j].follows(&strips[j-1]) && strips[j].longRun(st) == run && (!run || bytes.Equal(strips[j].Data, strips[i].Data)) {
			j++
		}
		s := strips[i]
		switch {
		case run:
			last := &strips[j-1]
			s.Rows = last.Skip + last.Rows - s.Skip
		case j > i+1:
			vals = vals[:0]
			for _, part := range strips[i:j] {
				var err error
				if vals, _, err = rows.Decode(vals, part.Data, part.Rows, st.PDPs); err != nil {
					return nil, err
				}
			}
			s.Rows = len(vals)
			s.Data = rows.Append(nil, vals, st.PDPs, nil)
		}
		out = append(out, s)
		i = j
	}
	return out, nil
}

// follows reports whether the first row of s is the one after the last of before, in the same
// column.
func (s *Strip) follows(before *Strip) bool {
	return s.Column == before.Column && s.Skip == before.Skip+before.Rows
}

// longRun reports whether s has too many rows to be spelled out, all of one value.
func (s *Strip) longRun(st *Geometry) bool {
	if s.Rows <= MaxMixed {
		return false
	}
	_, _, ok := rows.RunOf(s.Data, st.PDPs)
	return ok
}

// MaxMixed is the most rows of a strip whose rows differ in value.
const MaxMixed = 256
