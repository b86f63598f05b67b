package rowblock

import (
	"fmt"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra/rows"
)

// A Target receives rows of one column. Rows that it has no room for are left out.
type Target struct {
	From   int64     // number of the row that Values[0] holds
	Values []float64 // the rows, other columns' between them
	Step   int       // distance of neighbouring rows in Values: the number of data sources
}

// Put stores rows; the first has number k.
func (p *Target) Put(k int64, rows []float64) {
	to := p.to()
	if k < p.From {
		if p.From-k >= int64(len(rows)) {
			return
		}
		rows = rows[p.From-k:]
		k = p.From
	}
	if k >= to {
		return
	}
	rows = rows[:min(int64(len(rows)), to-k)]
	at := int(k-p.From) * p.Step
	if p.Step == 1 {
		copy(p.Values[at:], rows)
		return
	}
	for _, v := range rows {
		p.Values[at] = v
		at += p.Step
	}
}

// to returns the number after the last row's. Values may end before the columns of that row that
// follow the target's.
func (p *Target) to() int64 { return p.From + int64((len(p.Values)+p.Step-1)/p.Step) }

// Fill stores n rows of the value v; the first has number k.
func (p *Target) Fill(k, n int64, v float64) {
	for i, end := max(k, p.From), min(k+n, p.to()); i < end; i++ {
		p.Values[int(i-p.From)*p.Step] = v
	}
}

// Read stores the n coded rows that data begins with; the first has number k. It returns how many
// bytes they take. It does not spell out rows of one value, and of many rows it passes over those
// before p. buf is scratch space, which Read returns, perhaps grown.
func (p *Target) Read(k int64, n int, data []byte, pdps int64, buf []float64) (_ []float64, used int, err error) {
	if x, used, ok := rows.RunOf(data, pdps); ok && n > 0 {
		p.Fill(k, int64(n), x)
		return buf, used, nil
	}
	if at := k - p.From; p.Step == 1 && at >= 0 && at+int64(n) <= int64(len(p.Values)) {
		// The target takes all rows, and they stand side by side.
		_, used, err := rows.Decode(p.Values[at:at], data, n, pdps)
		if err != nil {
			return buf, 0, fmt.Errorf("%w: %w", record.ErrParse, err)
		}
		return buf, used, nil
	}
	from := int64(0)
	if n > MaxSlotRows {
		from = min(max(p.From-k, 0), int64(n))
		if k >= p.to() {
			from = int64(n)
		}
	}
	vals, used, err := rows.DecodeRange(buf[:0], data, n, pdps, int(from), n)
	if err != nil {
		return buf, 0, fmt.Errorf("%w: %w", record.ErrParse, err)
	}
	p.Put(k+from, vals)
	return vals, used, nil
}

// ReadColumn decodes the column b of a slot into p. buf is scratch space, which it returns, perhaps
// grown. It returns [record.ErrParse] if the column does not parse.
func ReadColumn(b []byte, st *Geometry, slot int64, p *Target, buf []float64) ([]float64, error) {
	r := record.Reader{Rest: b}
	for next := uint64(0); len(r.Rest) > 0; {
		skip, n := r.Uvarint(), r.Uvarint()
		if r.Err != nil || skip < next || skip > uint64(st.Slot) || n > uint64(st.Slot)-skip {
			return buf, record.ErrParse
		}
		next = skip + n
		var used int
		var err error
		if buf, used, err = p.Read(slot*st.Slot+int64(skip), int(n), r.Rest, st.PDPs, buf); err != nil {
			return buf, err
		}
		r.Rest = r.Rest[used:]
	}
	return buf, nil
}

// AppendStrips appends the strips of column i of b to dst. After an error dst is as it was.
func (b *Block) AppendStrips(dst []Strip, st *Geometry, i int) ([]Strip, error) {
	col, err := b.Column(i)
	if err != nil {
		return dst, err
	}
	out := dst
	err = SplitColumn(col, st, func(skip, rows int, data []byte) {
		out = append(out, Strip{Column: i, Skip: skip, Rows: rows, Data: data})
	})
	if err != nil {
		return dst, err
	}
	return out, nil
}

// SplitColumn calls fn with each strip of the column b: rows skipped, rows, coded rows. It returns
// an error if the column does not parse.
func SplitColumn(b []byte, st *Geometry, fn func(skip, rows int, data []byte)) error {
	r := record.Reader{Rest: b}
	var buf []float64
	for next := uint64(0); len(r.Rest) > 0; {
		skip, n := r.Uvarint(), r.Uvarint()
		if r.Err != nil || skip < next || skip > uint64(st.Slot) || n > uint64(st.Slot)-skip {
			return record.ErrParse
		}
		next = skip + n
		_, used, run := rows.RunOf(r.Rest, st.PDPs)
		if !run || n == 0 {
			var err error
			if buf, used, err = rows.Decode(buf[:0], r.Rest, int(n), st.PDPs); err != nil {
				return err
			}
		}
		fn(int(skip), int(n), r.Rest[:used])
		r.Rest = r.Rest[used:]
	}
	return nil
}
