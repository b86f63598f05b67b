package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// A client that draws a page of graphs asks for the same hours of many series, one request after
// the other. Such requests are gathered and read together, so that storage that the series share is
// read once.

const (
	defaultSpan  = 86400     // seconds before now at which FETCH begins if no start is given
	maxGathered  = 1024      // requests that are gathered
	readTogether = 256       // requests that are read in one call of the store
	manyValues   = 256 << 10 // values of the requests that are read together
)

// fetch gathers a request for rows. It is answered together with the requests for the same rows of
// other series that follow it directly.
func (c *conn) fetch(r *request) {
	f, err := c.parseFetch(r)
	if n := len(c.fetches); n > 0 && (err != nil || n == maxGathered || !c.fetches[0].like(&f)) {
		c.fetchAll()
	}
	if err != nil {
		c.fail(r.cmd, explain(err))
		return
	}
	c.fetches = append(c.fetches, f)
}

// like reports whether two requests ask for the same range and function, so that they can be
// gathered.
func (f *fetching) like(g *fetching) bool {
	return f.cmd == g.cmd && f.cf == g.cf && f.start == g.start && f.end == g.end
}

// fetchAll answers the requests that were gathered.
func (c *conn) fetchAll() {
	if len(c.fetches) == 0 {
		return
	}
	c.drain()
	for fs := c.fetches; len(fs) > 0 && !c.closing; {
		n := c.together(fs)
		if n == 1 {
			c.fetchOne(&fs[0])
		} else {
			c.fetchMany(fs[:n])
		}
		fs = fs[n:]
	}
	clear(c.fetches) // keep no aliases alive
	c.fetches = c.fetches[:0]
}

// together returns how many of the first requests can be read together, at least 1.
func (c *conn) together(fs []fetching) int {
	most := int64(manyValues)
	if !c.large {
		most /= 16
	}
	for i := range fs {
		if fs[i].makePlan(c.s.o.Store) != nil {
			return max(1, i)
		}
		if most -= fs[i].plan.Rows() * int64(len(fs[i].plan.DS)); most < 0 {
			return max(1, i)
		}
	}
	return len(fs)
}

// makePlan chooses the archive and the columns of a request.
func (f *fetching) makePlan(s core.Engine) error {
	store := core.Simple{Engine: s}
	last, err := store.Last(f.e.ref)
	if f.err = err; err != nil {
		return err
	}
	f.plan, f.err = query.PlanOf(store, f.e.ref, f.e.d, last, query.Request{CF: f.cf, Start: f.start, End: f.end})
	if f.err != nil {
		return f.err
	}
	if f.picked, f.err = f.pick(f.plan.DS); f.err != nil {
		return f.err
	}
	f.err = checkRows(f.plan)
	return f.err
}

// fetchOne answers one request. It reads and writes the rows in pieces.
func (c *conn) fetchOne(f *fetching) {
	err := c.read(f.e, func(e *alias) error {
		f.e = e
		if err := f.makePlan(c.s.o.Store); err != nil {
			return err
		}
		if err := c.charge(pieceBytes(f.plan)); err != nil {
			return &toldError{"rrd_fetch_r failed: " + explain(err)}
		}
		c.wrote = false
		head := len(c.out)
		err := c.fetched(f, f.plan.Pieces(c.s.life))
		switch {
		case err == nil:
		case c.wrote || len(c.out)-head > c.headed: // more than the head is in the answer
			c.closing = true // the head has announced rows that do not come
			return nil
		default:
			c.out = c.out[:head]
		}
		return err
	})
	if err != nil {
		c.unfetched(f, err)
	}
}

// pieceBytes returns the bytes of an answer that are in memory at once: a piece of the plan, and
// the rows of the store that it is copied from.
func pieceBytes(p *query.Plan) int64 {
	const pieceRows, pieceValues = 8192, 128 << 10
	n := int64(max(1, len(p.DS)))
	return 2 * 8 * min(p.Rows()*n, pieceRows*n, max(n, pieceValues))
}

// unfetched answers a request whose rows cannot be read.
func (c *conn) unfetched(f *fetching, err error) {
	if _, told := errors.AsType[*toldError](err); told {
		c.fail(f.cmd, err.Error())
	} else {
		c.fail(f.cmd, c.unopened(f.cmd, c.s.names.file(string(wire.Unescape([]byte(f.e.raw)))), err))
	}
	c.drain()
}

// A toldError is an error whose text is the whole answer.
type toldError struct{ text string }

func (e *toldError) Error() string { return e.text }

// fetchMany answers requests whose rows are read together.
func (c *conn) fetchMany(fs []fetching) {
	plans := make([]*query.Plan, len(fs))
	at := make([]int, len(fs)+1) // where the values of each request begin
	for i := range fs {
		plans[i] = fs[i].plan
		at[i+1] = at[i] + int(fs[i].plan.Rows())*len(fs[i].plan.DS)
	}
	if err := c.charge(8 * int64(at[len(fs)])); err != nil {
		for i := range fs {
			c.unfetched(&fs[i], &toldError{"rrd_fetch_r failed: " + explain(err)})
		}
		return
	}
	values := slices.Grow(c.values[:0], at[len(fs)])[:at[len(fs)]]
	c.values = values
	// A goroutine reads the next requests while this one writes the answers.
	read := make(chan int, len(fs)/readTogether+1) // how many requests have been read
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		for from := 0; from < len(fs); from += readTogether {
			to := min(from+readTogether, len(fs))
			err := query.ReadMany(c.s.life, core.Simple{Engine: c.s.o.Store}, plans[from:to], func(i int, rows []float64, err error) {
				i += from
				fs[i].err = err
				copy(values[at[i]:at[i+1]], rows)
			})
			for i := from; err != nil && i < to; i++ {
				fs[i].err = err
			}
			read <- to
		}
	})
	ready := 0
	for i := range fs {
		if i == ready {
			ready = <-read
		}
		f := &fs[i]
		if errors.Is(f.err, core.ErrNotFound) { // another series may have taken its place
			if c.fetchOne(f); c.closing {
				return
			}
			continue
		}
		if f.err != nil {
			c.unfetched(f, f.err)
			continue
		}
		t := query.Table{Start: f.plan.Start, End: f.plan.End, Step: f.plan.Step, DS: f.plan.DS, Values: values[at[i]:at[i+1]]}
		if c.fetched(f, func(yield func(*query.Table, error) bool) { yield(&t, nil) }) != nil {
			return
		}
	}
}

// checkRows refuses a range that rrdcached has no memory for, and one with too many rows.
func checkRows(p *query.Plan) error {
	switch rows, most := p.Rows(), int64(query.MaxValues/max(1, len(p.DS))); {
	case rows < 0:
		return &toldError{"rrd_fetch_r failed: malloc fetch data area"}
	case rows > most:
		return &query.RangeError{Rows: rows, Most: most}
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
	f.cmd, f.start, f.end = r.cmd, now-defaultSpan, now
	for i, to := range []*int64{&f.start, &f.end} {
		word, ok := r.next()
		if !ok {
			break
		}
		v, used, overflow := numeral.Scan(word, 0)
		if used == 0 || overflow {
			return f, fmt.Errorf("Cannot parse %s time `%s': Only simple integers are allowed.", []string{"start", "end"}[i], word)
		}
		if v <= 0 {
			v = now + max(v, -1<<60)
		}
		*to = v
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
	f.e, err = c.s.lookup(raw)
	if !errors.Is(err, errLeaves) {
		var bad error
		if f.cf, bad = rra.ParseCF(string(cf)); bad != nil {
			return f, fmt.Errorf("rrd_fetch_r failed: %w", bad)
		}
	}
	if err != nil {
		return f, errors.New(c.unopened(r.cmd, c.s.names.file(string(wire.Unescape(raw))), err))
	}
	return f, nil
}

// pick returns the indices of the requested columns.
func (f *fetching) pick(ds []string) ([]int, error) {
	columns := make([]int, 0, len(ds))
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
			return nil, &toldError{fmt.Sprintf("field %s not found in %s", name, f.e.path)}
		case slices.Contains(columns, i):
			return nil, &toldError{fmt.Sprintf("field %s already used", name)}
		}
		columns = append(columns, i)
	}
	return columns, nil
}

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
