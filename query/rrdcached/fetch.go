package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

// defaultSpan is how far back FETCH goes where no start is given.
const defaultSpan = 86400

// A fetching is a FETCH or FETCHBIN whose words were read.
type fetching struct {
	e          *entry
	file       string
	cf         rra.CF
	start, end int64
	columns    []string // empty: all
}

// fetch shows rows of a series.
func (c *conn) fetch(r *request) {
	f, err := c.parseFetch(r)
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	plan, err := query.NewPlan(c.s.o.Store, f.e.ref, query.Request{CF: f.cf, Start: f.start, End: f.end})
	if err != nil {
		c.gone(r.cmd, f.e, f.file, err)
		return
	}
	columns, err := f.pick(plan.DS)
	if err == nil {
		err = checkRows(plan)
	}
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	head := len(c.out)
	c.wrote = false
	if r.cmd.id == cmdFetch {
		err = c.fetchText(plan, columns)
	} else {
		err = c.fetchBinary(plan, columns)
	}
	switch {
	case err == nil:
	case !c.wrote && len(c.out)-head <= c.headed: // nothing but the head is there
		c.out = c.out[:head]
		c.gone(r.cmd, f.e, f.file, err)
	default:
		c.closing = true // rows were promised that do not come
	}
}

// checkRows refuses what rrdcached has no memory for, and what would take for ever.
func checkRows(p *query.Plan) error {
	switch rows := p.Rows(); {
	case rows < 0:
		return errors.New("rrd_fetch_r failed: malloc fetch data area")
	case rows > int64(query.MaxValues/max(1, len(p.DS))):
		return fmt.Errorf("rrd_fetch_r failed: %w", &query.RangeError{Rows: rows, Most: int64(query.MaxValues / max(1, len(p.DS)))})
	}
	return nil
}

// parseFetch reads the words of a FETCH.
func (c *conn) parseFetch(r *request) (f fetching, err error) {
	raw, ok := r.nextRaw()
	cf, has := r.next()
	if !ok || !has {
		return f, errors.New("Usage: " + r.cmd.usage)
	}
	now := c.s.o.Now().Unix()
	f.start, f.end = now-defaultSpan, now
	for _, t := range []struct {
		name string
		to   *int64
	}{{"start", &f.start}, {"end", &f.end}} {
		word, ok := r.next()
		if !ok {
			break
		}
		v, used, overflow := scanInt(word, 0)
		if used == 0 || overflow {
			return f, fmt.Errorf("Cannot parse %s time `%s': Only simple integers are allowed.", t.name, word)
		}
		if v <= 0 {
			v = now + max(v, -1<<60)
		}
		*t.to = v
	}
	for {
		word, ok := r.next()
		if !ok {
			break
		}
		if len(word) > 0 {
			f.columns = append(f.columns, string(word))
		}
	}
	f.file = c.s.names.file(string(unescape(raw)))
	if f.e, err = c.s.lookup(raw); err != nil {
		return f, errors.New(c.unopened(r.cmd, f.file, err))
	}
	if f.cf, err = rra.ParseCF(string(cf)); err != nil {
		return f, fmt.Errorf("rrd_fetch_r failed: %w", err)
	}
	return f, nil
}

// pick returns the indices of the columns asked for.
func (f *fetching) pick(ds []string) ([]int, error) {
	var columns []int
	if len(f.columns) == 0 {
		for i := range ds {
			columns = append(columns, i)
		}
		return columns, nil
	}
	for _, name := range f.columns {
		i := slices.Index(ds, name)
		switch {
		case i < 0:
			return nil, fmt.Errorf("field %s not found in %s", name, f.file)
		case slices.Contains(columns, i):
			return nil, fmt.Errorf("field %s already used", name)
		}
		columns = append(columns, i)
	}
	return columns, nil
}

// head writes what stands before rows: n is how many lines follow.
func (c *conn) head(n int64, p *query.Plan, columns int) {
	from := len(c.out)
	c.out = strconv.AppendInt(c.out, n, 10)
	for _, f := range []struct {
		name  string
		value int64
	}{
		{" Success\nFlushVersion: ", 1}, {"\nStart: ", p.Start}, {"\nEnd: ", p.End}, {"\nStep: ", p.Step}, {"\nDSCount: ", int64(columns)},
	} {
		c.out = append(c.out, f.name...)
		c.out = strconv.AppendInt(c.out, f.value, 10)
	}
	c.out = append(c.out, '\n')
	c.headed = len(c.out) - from
}

// fetchText writes rows as lines.
func (c *conn) fetchText(p *query.Plan, columns []int) error {
	const headLines = 6
	c.head(p.Rows()+headLines, p, len(columns))
	names := len(c.out)
	c.out = append(c.out, "DSName:"...)
	for _, i := range columns {
		c.out = append(append(c.out, ' '), p.DS[i]...)
	}
	c.out = append(c.out, '\n')
	c.headed += len(c.out) - names
	for t, err := range p.Pieces(c.s.life) {
		if err != nil {
			return err
		}
		for i := range t.Len() {
			end, values := t.Row(i)
			c.out = appendPadded(c.out, end)
			c.out = append(c.out, ':')
			for _, j := range columns {
				c.out = appendValue(append(c.out, ' '), values[j])
			}
			c.out = append(c.out, '\n')
			if len(c.out) >= answerBytes {
				if err := c.flush(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fetchBinary writes doubles, column by column. A long range is read anew for each column, so that it need not be kept.
func (c *conn) fetchBinary(p *query.Plan, columns []int) error {
	const headLines = 5
	c.head(int64(headLines-1+len(columns)), p, len(columns))
	for n, column := range columns {
		from := len(c.out)
		c.out = fmt.Appendf(c.out, "DSName-%s: BinaryData %d 8 LITTLE\n", p.DS[column], p.Rows())
		if n == 0 {
			c.headed += len(c.out) - from
		}
		for t, err := range p.Pieces(c.s.life) {
			if err != nil {
				return err
			}
			for i := range t.Len() {
				_, values := t.Row(i)
				c.out = binary.LittleEndian.AppendUint64(c.out, bitsOf(values[column]))
				if len(c.out) >= answerBytes {
					if err := c.flush(); err != nil {
						return err
					}
				}
			}
		}
		c.out = append(c.out, '\n')
	}
	return nil
}

// unknownBits is the unknown value as rrdtool mostly has it on this kind of processor, where it prints -nan.
const unknownBits = 0xfff8000000000000

func bitsOf(v float64) uint64 {
	if v != v {
		return unknownBits
	}
	return math.Float64bits(v)
}

// appendPadded appends v as %10d would.
func appendPadded(dst []byte, v int64) []byte {
	n := len(dst)
	dst = strconv.AppendInt(dst, v, 10)
	for len(dst)-n < 10 {
		dst = slices.Insert(dst, n, ' ')
	}
	return dst
}

// appendValue appends v as %0.17e would; unknown is -nan.
func appendValue(dst []byte, v float64) []byte {
	switch {
	case v != v:
		return append(dst, "-nan"...)
	case v > math.MaxFloat64:
		return append(dst, "inf"...)
	case v < -math.MaxFloat64:
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, 'e', 17, 64)
}
