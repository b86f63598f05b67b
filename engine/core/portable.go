package core

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// What follows is for stores that speak to each other: definitions and copies as bytes, and
// positions that a reader asks for.

// AppendDefinition appends d to dst in the form in which a store keeps it. Equal definitions have
// equal forms. A nil definition has the empty form.
func AppendDefinition(dst []byte, d *rra.Definition) []byte {
	if d == nil {
		return dst
	}
	return appendDefinition(dst, d)
}

// ParseDefinition is the inverse of AppendDefinition. It does not check what rra.Compile checks.
// The error wraps ErrInvalid, or ErrVersion.
func ParseDefinition(b []byte) (*rra.Definition, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if n := len(b); n > MaxDefinition {
		return nil, invalid("a definition of %d bytes, at most %d are possible", n, MaxDefinition)
	}
	d, err := decodeDefinition(b)
	return d, asInvalid(err)
}

// copyVersion begins the binary form of a Copy.
const copyVersion = 2

// AppendBinary appends c in a form that UnmarshalBinary reads. It does not fail.
func (c *Copy) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, copyVersion)
	dst = record.AppendText(dst, c.Path)
	dst = binary.AppendUvarint(dst, uint64(len(c.Labels)))
	for _, l := range c.Labels {
		dst = record.AppendText(record.AppendText(dst, l.Name), l.Value)
	}
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
	*c = Copy{Path: r.Text()}
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		c.Labels = append(c.Labels, Label{r.Text(), r.Text()})
	}
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
