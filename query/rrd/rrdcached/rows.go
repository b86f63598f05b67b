package rrdcached

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/rondo-db/rondo/query"
)

// head writes the head of an answer with rows; n is how many lines the answer has.
func (c *conn) head(n int64, f *fetching) {
	from := len(c.out)
	c.out = strconv.AppendInt(c.out, n, 10)
	c.headLine(" Success\nFlushVersion: ", 1)
	c.headLine("\nStart: ", f.plan.Start)
	c.headLine("\nEnd: ", f.plan.End)
	c.headLine("\nStep: ", f.plan.Step)
	c.headLine("\nDSCount: ", int64(len(f.picked)))
	c.out = append(c.out, '\n')
	c.headed = len(c.out) - from
}

func (c *conn) headLine(name string, value int64) {
	c.out = strconv.AppendInt(append(c.out, name...), value, 10)
}

// textHead writes the head of an answer with rows as text.
func (c *conn) textHead(f *fetching) {
	const headLines = 6
	from := len(c.out)
	c.head(f.plan.Rows()+headLines, f)
	c.out = append(c.out, "DSName:"...)
	for _, i := range f.picked {
		c.out = append(append(c.out, ' '), f.plan.DS[i]...)
	}
	c.out = append(c.out, '\n')
	c.headed = len(c.out) - from
}

// fetched writes the rows of a request: as text, or as doubles column by column. Those that come in
// several pieces are read once for each column, so that they are never all held.
func (c *conn) fetched(f *fetching, pieces iter.Seq2[*query.Table, error]) error {
	if f.cmd.id == cmdFetch {
		c.textHead(f)
		return each(pieces, func(t *query.Table) error { return c.textRows(t, f.picked) })
	}
	const headLines = 5
	c.head(int64(headLines+len(f.picked)), f)
	for _, column := range f.picked {
		c.out = fmt.Appendf(c.out, "DSName-%s: BinaryData %d 8 LITTLE\n", f.plan.DS[column], f.plan.Rows())
		if err := each(pieces, func(t *query.Table) error { return c.columnRows(t, column) }); err != nil {
			return err
		}
		c.out = append(c.out, '\n')
	}
	return nil
}

// each calls write with each piece, up to an error.
func each(pieces iter.Seq2[*query.Table, error], write func(t *query.Table) error) error {
	for t, err := range pieces {
		if err == nil {
			err = write(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) textRows(t *query.Table, picked []int) error {
	var buf [24]byte
	end := fmt.Appendf(buf[:0], "%10d:", t.Start)
	out := slices.Grow(c.out, min(t.Len(), 256)*(16+26*len(picked)))
	// The first value of the row before, and where its text ends in out; 0: it was sent.
	last, to, size := uint64(0), 0, 0
	for i := range t.Len() {
		at, values := t.Row(i)
		if t.Start < 0 || !advance(end[:len(end)-1], uint64(t.Step)) {
			end = fmt.Appendf(buf[:0], "%10d:", at)
		}
		out = append(out, end...)
		from := len(out)
		first := math.Float64bits(values[picked[0]])
		if first == last && to > 0 && sameValues(t, i, picked) {
			out = append(out, out[to-size:to]...)
		} else {
			for _, j := range picked {
				out = appendValue(append(out, ' '), values[j])
			}
		}
		last, to, size = first, len(out), len(out)-from
		out = append(out, '\n')
		if len(out) >= answerBytes {
			c.out = out
			if err := c.flush(); err != nil {
				return err
			}
			out, to = c.out, 0
		}
	}
	c.out = out
	return nil
}

// sameValues reports whether a row has the picked values of the row before. Rows of a series that
// stands still, or is unknown, print the same text, which need not be made again.
func sameValues(t *query.Table, i int, picked []int) bool {
	_, a := t.Row(i - 1)
	_, b := t.Row(i)
	for _, j := range picked {
		if math.Float64bits(a[j]) != math.Float64bits(b[j]) {
			return false
		}
	}
	return true
}

// columnRows writes one column as doubles.
func (c *conn) columnRows(t *query.Table, column int) error {
	for i := range t.Len() {
		_, values := t.Row(i)
		c.out = binary.LittleEndian.AppendUint64(c.out, bitsOf(values[column]))
		if len(c.out) >= answerBytes {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}
