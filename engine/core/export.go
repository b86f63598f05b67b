package core

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/defcode"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// exportTries is how often Export reads a series that changes meanwhile. After that it keeps
// writers from logging while it reads.
const exportTries = 20

// Export returns a whole series as it is at one moment. The error wraps ErrMemory if its rows, at 8
// bytes a value, do not fit into three quarters of the free budget.
func (s *Store) Export(ctx context.Context, ref Ref) (Copy, error) {
	if err := s.enter(); err != nil {
		return Copy{}, err
	}
	defer s.leave()
	reserved, err := s.admission.reserveCopy(ctx)
	if err != nil {
		return Copy{}, err
	}
	defer reserved.end()
	for range exportTries {
		c, same, err := s.export(ctx, ref, reserved)
		if err != nil || same {
			return c, err
		}
	}
	s.appender.pause()
	defer s.appender.resume()
	c, _, err := s.export(ctx, ref, reserved)
	return c, err
}

// export reads a series, and reports whether the series stayed the same meanwhile. reserved then
// holds the memory of the copy, instead of the memory that it held before.
func (s *Store) export(ctx context.Context, ref Ref, reserved *reservation) (c Copy, same bool, err error) {
	reserved.end()
	info, err := s.Info(ref)
	if err != nil {
		return Copy{}, false, err
	}
	c = Copy{Path: info.Path, Labels: info.Labels, Definition: info.Definition, State: info.State}
	last := info.LastUpdate()
	c.last = last
	if c.Rows, err = s.exportRows(ctx, ref, info.Machine, last.Unix(), reserved); err != nil {
		return Copy{}, false, err
	}
	now, err := s.Last(ref)
	return c, now == last, err
}

func (s *Store) exportRows(ctx context.Context, ref Ref, m *rra.Machine, last int64, reserved *reservation) ([][]float64, error) {
	d := m.Definition()
	size := int64(0) // counts all rows: the reader of the copy may fill in unknown rows
	for i := range d.Archives {
		size += 8 * d.Archives[i].Rows * int64(len(d.Sources))
	}
	if err := reserved.grow(size); err != nil {
		return nil, err
	}
	rows := make([][]float64, len(d.Archives))
	for id, st := range m.Streams() {
		span := st.PDPs * d.Step
		end := rowblock.FloorDiv(last, span) * span
		var longest []float64
		for _, i := range st.Archives {
			if d.Archives[i].Rows != st.Rows {
				continue
			}
			var err error
			if longest, err = s.exportArchive(ctx, ref, i, end-st.Rows*span, end, span, len(d.Sources)); err != nil {
				return nil, err
			}
			break
		}
		for i := range d.Archives {
			if m.StreamOf(i) == id {
				rows[i] = longest[max(len(longest)-int(d.Archives[i].Rows)*len(d.Sources), 0):]
			}
		}
	}
	return rows, nil
}

// exportPiece is how many values of an archive are read at once.
const exportPiece = 1 << 20

// exportArchive reads the rows of one archive, in pieces. It leaves out the pieces at the front
// that have no known row.
func (s *Store) exportArchive(ctx context.Context, ref Ref, archive int, start, end, span int64, sources int) ([]float64, error) {
	var out []float64
	rows := max(exportPiece/int64(sources), 1)
	for from := start; from < end; from += rows * span {
		to := min(from+rows*span, end)
		err := s.FetchMany(ctx, []Span{{Ref: ref, Archive: archive, Start: from, End: to}}, func(_ int, r *Rows, e error) {
			if e != nil || len(out) == 0 && !slices.ContainsFunc(r.Values, func(v float64) bool { return v == v }) {
				return
			}
			if len(out) == 0 { // all that follows is known by now
				out = make([]float64, 0, (end-from)/span*int64(sources))
			}
			out = append(out, r.Values...)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A Copy is a whole series. Export returns one, Import takes one.
type Copy struct {
	Path       string
	Labels     []Label
	Definition *rra.Definition
	// State is a state of the definition's machine. It includes the rows of SEASONAL and
	// DEVSEASONAL archives.
	State rra.State
	// Rows holds the rows of each other archive, oldest first. The last row is the newest that
	// ended at or before the last update. Row i of source j is Rows[archive][i*sources+j]. Rows
	// that are left out at the front are unknown.
	Rows [][]float64

	last rra.Time // set by Export: the last update
}

// Spec returns what makes a series of c.
func (c *Copy) Spec(overwrite bool) Spec {
	return Spec{Path: c.Path, Labels: c.Labels, Definition: c.Definition, Overwrite: overwrite, Copy: c}
}

// ownRows returns d, or a copy of it in which archives with one PDP a row whose rows differ from
// the longest's have rows of their own.
func ownRows(d *rra.Definition, rows [][]float64) *rra.Definition {
	shares := func(i int) bool {
		a := &d.Archives[i]
		return a.CF <= rra.Last && a.PDPs == 1 && !a.Own && i < len(rows)
	}
	longest := -1
	for i := range d.Archives {
		if shares(i) && (longest < 0 || d.Archives[i].Rows > d.Archives[longest].Rows) {
			longest = i
		}
	}
	out := d
	for i := range d.Archives {
		if i == longest || !shares(i) || sameTail(rows[longest], rows[i], int(d.Archives[i].Rows)*len(d.Sources)) {
			continue
		}
		if out == d {
			out = &rra.Definition{Step: d.Step, Sources: d.Sources, Archives: slices.Clone(d.Archives)}
		}
		out.Archives[i].Own = true
	}
	return out
}

// sameTail reports whether the last n values of a and b are equal. Values before the front of a
// slice count as unknown.
func sameTail(a, b []float64, n int) bool {
	at := func(v []float64, i int) float64 {
		if i > len(v) {
			return math.NaN()
		}
		return v[len(v)-i]
	}
	for i := 1; i <= min(n, max(len(a), len(b))); i++ {
		x, y := at(a, i), at(b, i)
		if math.Float64bits(x) != math.Float64bits(y) && !(x != x && y != y) {
			return false
		}
	}
	return true
}

// What follows is for stores that speak to each other: definitions and copies as bytes, and
// positions that a reader asks for.

// AppendDefinition appends d to dst in the form in which a store keeps it. Equal definitions have
// equal forms. A nil definition has the empty form.
func AppendDefinition(dst []byte, d *rra.Definition) []byte {
	if d == nil {
		return dst
	}
	return defcode.Append(dst, d)
}

// ParseDefinition is the inverse of AppendDefinition. It does not check what rra.Compile checks.
// Equal definitions are one, which is a store's as well: it must not be changed.
// The error wraps ErrInvalid, or ErrVersion.
func ParseDefinition(b []byte) (*rra.Definition, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if n := len(b); n > MaxDefinition {
		return nil, invalid("a definition of %d bytes, at most %d are possible", n, MaxDefinition)
	}
	d, err := inUse.decode(b)
	return d, asInvalid(err)
}

// copyVersion begins the binary form of a Copy.
const copyVersion = 2

// AppendBinary appends c in a form that UnmarshalBinary reads. It does not fail.
func (c *Copy) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, copyVersion)
	dst = record.AppendText(dst, c.Path)
	dst = appendLabels(dst, c.Labels)
	dst = record.AppendText(dst, string(AppendDefinition(nil, c.Definition)))
	dst = binary.AppendUvarint(dst, uint64(len(c.State.W)))
	for _, w := range c.State.W {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	dst = record.AppendTexts(dst, c.State.Text)
	dst = binary.AppendUvarint(dst, uint64(len(c.Rows)))
	for _, rows := range c.Rows {
		dst = binary.AppendUvarint(dst, uint64(len(rows)))
		for _, v := range rows {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	}
	return binary.AppendVarint(dst, int64(c.last)), nil
}

// UnmarshalBinary reads what AppendBinary has appended. It takes no more memory than a small
// multiple of len(b). The error wraps ErrInvalid, and ErrVersion if the copy is of another version.
func (c *Copy) UnmarshalBinary(b []byte) error {
	r := record.Reader{Rest: b}
	if v := r.Byte(); v != copyVersion {
		return asInvalid(fmt.Errorf("copy of a series, version %d: %w", v, record.OtherVersion(uint64(v), copyVersion)))
	}
	*c = Copy{Path: r.Text(), Labels: readLabels(&r)}
	d, err := ParseDefinition(r.Bytes(r.Uvarint()))
	if err != nil {
		return err
	}
	c.Definition = d
	if n := wordsIn(&r); n > 0 {
		c.State.W = make([]uint64, n)
		for i := range c.State.W {
			c.State.W[i] = r.Uint64()
		}
	}
	if c.State.Text = r.Texts(); len(c.State.Text) == 0 {
		c.State.Text = nil
	}
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		var rows []float64
		if n := wordsIn(&r); n > 0 {
			rows = make([]float64, n)
			for i := range rows {
				rows[i] = math.Float64frombits(r.Uint64())
			}
		}
		c.Rows = append(c.Rows, rows)
	}
	c.last = rra.Time(r.Varint())
	if r.Err != nil || len(r.Rest) != 0 {
		return asInvalid(fmt.Errorf("copy of a series, %d bytes: %w", len(b), record.ErrParse))
	}
	return nil
}

// wordsIn reads how many words of eight bytes follow. It fails if there are fewer.
func wordsIn(r *record.Reader) uint64 {
	n := r.Uvarint()
	if n > uint64(len(r.Rest))/8 {
		r.Fail()
		return 0
	}
	return n
}

type positionKey struct{}

// AtLeast returns a context for reads that must see all records of the log up to position p. A
// partition that another machine holds waits for the position; a Store does not look at it.
func AtLeast(ctx context.Context, p wal.Pos) context.Context {
	return context.WithValue(ctx, positionKey{}, p)
}

// LeastPosition returns the position that AtLeast has put into ctx, or 0.
func LeastPosition(ctx context.Context) wal.Pos {
	p, _ := ctx.Value(positionKey{}).(wal.Pos)
	return p
}
