package rrdcached

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/rra"
)

// A client as a store. The protocol says less than a store knows: archives are chosen by the server, and a state can be shown
// and not taken along.

// errNotSpoken says that the protocol has no words for what was asked.
var errNotSpoken = errors.New("rrdcached's protocol has no words for it: ask a rondo server, or the database")

// A file is a series as INFO shows it.
type file struct {
	path string
	info core.Info
}

// Lookup asks for a series, as the server has written it.
func (c *Client) Lookup(path string) (core.Ref, error) {
	info, err := c.ask(path, false)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.known[path]
	if !ok {
		i = len(c.files)
		c.known[path] = i
		c.files = append(c.files, nil)
	}
	info.Ref, info.Path = core.Ref(i+1), path
	c.files[i] = &file{path, info}
	return info.Ref, nil
}

// ask asks for a series. With flush the server first writes what it holds of it.
func (c *Client) ask(path string, flush bool) (core.Info, error) {
	name := c.name(path)
	requests := []string{"INFO " + name}
	if flush {
		requests = []string{"FLUSH " + name, "INFO " + name}
	}
	replies, err := c.doAll(context.Background(), requests)
	if err != nil {
		return core.Info{}, err
	}
	last := replies[len(replies)-1]
	if missing(last.err) {
		return core.Info{}, fmt.Errorf("%w: %w", core.ErrNotFound, last.err)
	}
	if last.err != nil {
		return core.Info{}, last.err
	}
	info, err := parseInfo(last.lines)
	if err != nil {
		return core.Info{}, fmt.Errorf("%s: what it says of %s: %w", c.addr, path, err)
	}
	return info, nil
}

// file returns what Lookup has learned.
func (c *Client) file(ref core.Ref) (*file, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ref == 0 || int(ref) > len(c.files) {
		return nil, core.ErrNotFound
	}
	return c.files[ref-1], nil
}

// Series returns the series of a reference, as it was when it was looked up.
func (c *Client) Series(ref core.Ref) (core.Series, error) {
	f, err := c.file(ref)
	if err != nil {
		return core.Series{}, err
	}
	return f.info.Series, nil
}

// Info returns a series with its state, to the digits that the server shows.
func (c *Client) Info(ref core.Ref) (core.Info, error) {
	f, err := c.file(ref)
	if err != nil {
		return core.Info{}, err
	}
	info, err := c.ask(f.path, true)
	info.Ref, info.Path = ref, f.path
	return info, err
}

// Last returns the second of the last update.
func (c *Client) Last(ref core.Ref) (rra.Time, error) {
	info, err := c.Info(ref)
	if err != nil {
		return 0, err
	}
	return info.Machine.LastUpdate(info.State.W), nil
}

// Create has the server make a series.
func (c *Client) Create(ctx context.Context, spec core.Spec) (core.Ref, error) {
	words := []string{"CREATE", c.name(spec.Path), "-b", strconv.FormatInt(spec.Start.Unix(), 10), "-s", strconv.FormatInt(spec.Definition.Step, 10)}
	if !spec.Overwrite {
		words = append(words, "-O")
	}
	for _, arg := range spec.Definition.Args() {
		words = append(words, escape(arg))
	}
	_, err := c.do(ctx, strings.Join(words, " "))
	if e, ok := errors.AsType[*AnswerError](err); ok && strings.HasSuffix(e.Text, "File exists") {
		return 0, fmt.Errorf("%w: %w", core.ErrExists, err)
	}
	return 0, err
}

// Update sends samples, as many in a request as there is room for.
func (c *Client) Update(ctx context.Context, ref core.Ref, b *core.Batch, trace bool) (n int, rows [][]rra.Run, err error) {
	if trace {
		return 0, nil, errNotSpoken
	}
	f, err := c.file(ref)
	if err != nil {
		return 0, nil, err
	}
	var last rra.Time
	if b.SkipPast {
		if last, err = c.Last(ref); err != nil {
			return 0, nil, err
		}
	}
	head := "UPDATE " + c.name(f.path)
	line := []byte(head)
	count := 0
	send := func() error {
		if count == 0 {
			return nil
		}
		if _, err := c.do(ctx, string(line)); err != nil {
			return err
		}
		n += count
		line, count = append(line[:0], head...), 0
		return nil
	}
	for x := range b.All() {
		if b.SkipPast {
			if x.At <= last {
				continue
			}
			last = x.At
		}
		word := appendSample([]byte{' '}, x)
		if len(line)+len(word) > MaxLine {
			if err := send(); err != nil {
				return n, nil, err
			}
		}
		line = append(line, word...)
		count++
	}
	err = send()
	return n, nil, err
}

// appendSample appends a sample as a word of UPDATE.
func appendSample(dst []byte, x core.BatchSample) []byte {
	dst = strconv.AppendInt(dst, x.At.Unix(), 10)
	if micro := x.At.Micro(); micro > 0 {
		// Half a microsecond more, since the fraction is cut when it is read.
		dst = fmt.Appendf(dst, ".%06d5", micro)
	}
	for _, v := range x.Values {
		text := ""
		switch v.Tag {
		case rra.TagText, rra.TagInvalid:
			text = x.Texts[v.Bits]
		default:
			text = rra.FormatReading(v, nil)
		}
		dst = append(append(dst, ':'), escape(text)...)
	}
	return dst
}

// Flush has the server write what it holds of series.
func (c *Client) Flush(ctx context.Context, refs []core.Ref) error {
	for _, ref := range refs {
		f, err := c.file(ref)
		if err != nil {
			return err
		}
		if _, err := c.do(ctx, "FLUSH "+c.name(f.path)); err != nil {
			return err
		}
	}
	return nil
}

// Table returns the rows that the server chooses: of the finest archive that reaches back so far, whatever resolution is asked for.
func (c *Client) Table(ref core.Ref, r query.Request) (*query.Table, error) {
	f, err := c.file(ref)
	if err != nil {
		return nil, err
	}
	// Times that are not above 0 would be taken as back from now.
	a, err := c.do(context.Background(), fmt.Sprintf("FETCH %s %s %d %d", c.name(f.path), r.CF, max(r.Start, 1), max(r.End, 1)))
	if err != nil {
		return nil, err
	}
	t, err := parseTable(a.lines)
	if err != nil {
		return nil, fmt.Errorf("%s: rows of %s: %w", c.addr, f.path, err)
	}
	return t, nil
}

var errAnswer = errors.New("the answer does not parse")

// farthest bounds the seconds of rows: a series cannot have as many.
const farthest = 1 << 40

// parseTable reads the lines of FETCH.
func parseTable(lines []string) (*query.Table, error) {
	t := &query.Table{Archive: -1}
	heads := map[string]*int64{"Start": &t.Start, "End": &t.End, "Step": &t.Step}
	for len(lines) > 0 {
		key, value, ok := strings.Cut(lines[0], ": ")
		if key == "DSName" {
			t.DS = strings.Fields(value)
		} else if to := heads[key]; to != nil && ok {
			var err error
			if *to, err = strconv.ParseInt(value, 10, 64); err != nil {
				return nil, errAnswer
			}
		} else if key != "FlushVersion" && key != "DSCount" {
			break
		}
		lines = lines[1:]
	}
	if t.Step < 1 || t.Step > farthest || t.End < t.Start || t.Start < -farthest || t.End > farthest || len(t.DS) == 0 || int64(len(lines)) != (t.End-t.Start)/t.Step {
		return nil, errAnswer
	}
	t.Values = make([]float64, 0, len(lines)*len(t.DS))
	for _, line := range lines {
		_, row, _ := strings.Cut(line, ":")
		fields := strings.Fields(row)
		if len(fields) != len(t.DS) {
			return nil, errAnswer
		}
		for _, field := range fields {
			v, err := parseFloat(field)
			if err != nil {
				return nil, errAnswer
			}
			t.Values = append(t.Values, v)
		}
	}
	return t, nil
}

// parseFloat reads what C's printf prints.
func parseFloat(text string) (float64, error) {
	if strings.EqualFold(strings.TrimPrefix(text, "-"), "nan") {
		return math.NaN(), nil
	}
	return strconv.ParseFloat(text, 64)
}

// List yields the series below a folder, in order of paths, without their definitions.
func (c *Client) List(ctx context.Context, prefix, after string) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		dir := ""
		if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
			dir = prefix[:i+1]
		}
		replies, err := c.doAll(ctx, []string{"FLUSHALL", "LIST RECURSIVE /" + escape(strings.TrimSuffix(dir, "/"))})
		if err == nil {
			err = replies[1].err
		}
		if missing(err) {
			return
		}
		if err != nil {
			yield(core.Series{}, err)
			return
		}
		names := replies[1].lines
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Compare(strings.TrimSuffix(a, ".rrd"), strings.TrimSuffix(b, ".rrd"))
		})
		for _, name := range names {
			path := dir + name
			if !strings.HasPrefix(path, prefix) || strings.TrimSuffix(path, ".rrd") <= strings.TrimSuffix(after, ".rrd") && after != "" {
				continue
			}
			if !yield(core.Series{Path: path}, nil) {
				return
			}
		}
	}
}

// Fetch is not spoken: see Table.
func (c *Client) Fetch(context.Context, core.Ref, int, int64, int64) (core.Rows, error) {
	return core.Rows{}, errNotSpoken
}

// Alter is not spoken.
func (c *Client) Alter(context.Context, string, func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return 0, errNotSpoken
}

// Export returns a whole series, to the digits that DUMP writes.
func (c *Client) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	f, err := c.file(ref)
	if err != nil {
		return core.Copy{}, err
	}
	// The server disconnects after it: it has a connection of its own.
	other, err := c.again(ctx)
	if err != nil {
		return core.Copy{}, err
	}
	defer func() { _ = other.Close() }() // all was read
	stop := context.AfterFunc(ctx, func() { _ = other.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	series, err := other.dump(f.path)
	if err != nil {
		return core.Copy{}, fmt.Errorf("dump of %s: %w", c.name(f.path), err)
	}
	return series, nil
}

// again connects once more.
func (c *Client) again(ctx context.Context) (*Client, error) {
	other, err := Dial(ctx, c.addr)
	if err == nil {
		other.dir = c.dir
	}
	return other, err
}

// dump reads the answer to a DUMP, which is XML or an error.
func (c *Client) dump(path string) (core.Copy, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return core.Copy{}, err
	}
	if _, err := c.conn.Write([]byte("DUMP " + c.name(path) + "\n")); err != nil {
		return core.Copy{}, err
	}
	first, err := c.in.Peek(1)
	if err != nil {
		return core.Copy{}, err
	}
	if first[0] != '<' {
		left := MaxLine
		r, err := c.reply(&left)
		if err == nil {
			err = r.err
		}
		if err == nil {
			err = errAnswer
		}
		return core.Copy{}, err
	}
	x, err := rrdfile.ReadXML(io.LimitReader(c.in, maxAnswer), rrdfile.XMLOptions{WholeHistory: true})
	if err != nil {
		return core.Copy{}, err
	}
	return transfer.CopyOf(path, x)
}

// Tune has the server change a series.
func (c *Client) Tune(ctx context.Context, path string, args []string) error {
	words := []string{"TUNE", c.name(path)}
	for _, arg := range args {
		words = append(words, escape(arg))
	}
	_, err := c.do(ctx, strings.Join(words, " "))
	return err
}

// Import is not spoken.
func (c *Client) Import(context.Context, []core.Copy, bool) ([]core.Created, error) {
	return nil, errNotSpoken
}
