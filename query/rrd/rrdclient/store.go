package rrdclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/rra"
)

// A client is a store of package rrdtool. The protocol can do less than a store: the server chooses
// the archive of a fetch, and it shows the state of a series but cannot be given one.

// errNotSpoken says that the protocol has no request for what was asked.
var errNotSpoken = errors.New("rrdcached's protocol has no words for it: ask a rondo server, or the database")

// Lookup asks for a series as the server has last written it to its file.
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
		c.files = append(c.files, core.Series{})
	}
	info.Ref, info.Path = core.Ref(i+1), path
	c.files[i] = info.Series
	return info.Ref, nil
}

// ask asks for a series. With flush the server first writes the samples that it holds back.
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

// Series returns the series of a reference, as it was when it was looked up.
func (c *Client) Series(ref core.Ref) (core.Series, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ref == 0 || int(ref) > len(c.files) {
		return core.Series{}, core.ErrNotFound
	}
	return c.files[ref-1], nil
}

// Info returns a series with its state, to the digits that the server shows.
func (c *Client) Info(ref core.Ref) (core.Info, error) {
	f, err := c.Series(ref)
	if err != nil {
		return core.Info{}, err
	}
	info, err := c.ask(f.Path, true)
	info.Ref, info.Path = ref, f.Path
	return info, err
}

// Last returns the time of the last update, in whole seconds.
func (c *Client) Last(ref core.Ref) (rra.Time, error) {
	info, err := c.Info(ref)
	if err != nil {
		return 0, err
	}
	return info.LastUpdate(), nil
}

// Create asks the server to make a series.
func (c *Client) Create(ctx context.Context, spec core.Spec) (core.Ref, error) {
	if spec.Copy != nil {
		return 0, errNotSpoken
	}
	return 0, c.CreateFrom(ctx, spec, "", nil, spec.Definition.Args())
}

// CreateFrom is Create for what the server takes from other series: args define the series behind
// a template, if there is one, and sources fill it. Without a start it begins where these end.
func (c *Client) CreateFrom(ctx context.Context, spec core.Spec, template string, sources, args []string) error {
	words := []string{"CREATE", c.name(spec.Path), "-s", strconv.FormatInt(spec.Definition.Step, 10)}
	if spec.Start != 0 {
		words = append(words, "-b", strconv.FormatInt(spec.Start.Unix(), 10))
	}
	if !spec.Overwrite {
		words = append(words, "-O")
	}
	if template != "" {
		words = append(words, "-t", c.name(template))
	}
	for _, source := range sources {
		words = append(words, "-r", c.name(source))
	}
	for _, arg := range args {
		words = append(words, wire.Escape(arg))
	}
	_, err := c.do(ctx, strings.Join(words, " "))
	if e, ok := errors.AsType[*AnswerError](err); ok && strings.HasSuffix(e.Text, "File exists") {
		return fmt.Errorf("%w: %w", core.ErrExists, err)
	}
	return err
}

// Update sends samples, as many in each request as fit. n counts those that the server has taken.
func (c *Client) Update(ctx context.Context, ref core.Ref, b *core.Batch) (n int, err error) {
	f, err := c.Series(ref)
	if err != nil {
		return 0, err
	}
	var last rra.Time
	if b.SkipPast {
		if last, err = c.Last(ref); err != nil {
			return 0, err
		}
	}
	head := "UPDATE " + c.name(f.Path)
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
		if len(line)+len(word) > wire.MaxLine {
			if err := send(); err != nil {
				return n, err
			}
		}
		line = append(line, word...)
		count++
	}
	return n, send()
}

// appendSample appends a sample as a word of UPDATE.
func appendSample(dst []byte, x core.BatchSample) []byte {
	dst = strconv.AppendInt(dst, x.At.Unix(), 10)
	if micro := x.At.Micro(); micro > 0 {
		// The reader cuts the fraction off instead of rounding it: half a microsecond more is the
		// same time.
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
		dst = append(append(dst, ':'), wire.Escape(text)...)
	}
	return dst
}

// Flush asks the server to write the samples that it holds back for series.
func (c *Client) Flush(ctx context.Context, refs []core.Ref) error {
	for _, ref := range refs {
		f, err := c.Series(ref)
		if err != nil {
			return err
		}
		if _, err := c.do(ctx, "FLUSH "+c.name(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// Select yields the series below a folder, in order of paths, without their definitions.
func (c *Client) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		dir := ""
		if i := strings.LastIndexByte(q.Prefix, '/'); i >= 0 {
			dir = q.Prefix[:i+1]
		}
		replies, err := c.doAll(ctx, []string{"FLUSHALL", "LIST RECURSIVE /" + wire.Escape(strings.TrimSuffix(dir, "/"))})
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
			if !strings.HasPrefix(path, q.Prefix) || strings.TrimSuffix(path, ".rrd") <= strings.TrimSuffix(q.After, ".rrd") && q.After != "" {
				continue
			}
			if !yield(core.Series{Path: path}, nil) {
				return
			}
		}
	}
}

// Fetch returns an error: the protocol cannot name an archive. See Table.
func (c *Client) Fetch(context.Context, core.Ref, int, int64, int64) (core.Rows, error) {
	return core.Rows{}, errNotSpoken
}

// Alter returns an error: the protocol has no request for it.
func (c *Client) Alter(context.Context, string, func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return 0, errNotSpoken
}

// Tune asks the server to change a series.
func (c *Client) Tune(ctx context.Context, path string, args []string) error {
	words := []string{"TUNE", c.name(path)}
	for _, arg := range args {
		words = append(words, wire.Escape(arg))
	}
	_, err := c.do(ctx, strings.Join(words, " "))
	return err
}

// Table returns the rows of the finest archive that reaches back to the start of r. The server
// chooses it, whatever resolution r asks for.
func (c *Client) Table(ref core.Ref, r query.Request) (*query.Table, error) {
	f, err := c.Series(ref)
	if err != nil {
		return nil, err
	}
	// The server takes a time below 1 as seconds before now.
	a, err := c.do(context.Background(), fmt.Sprintf("FETCH %s %s %d %d", c.name(f.Path), r.CF, max(r.Start, 1), max(r.End, 1)))
	if err != nil {
		return nil, err
	}
	t, err := parseTable(a.lines)
	if err != nil {
		return nil, fmt.Errorf("%s: rows of %s: %w", c.addr, f.Path, err)
	}
	return t, nil
}

var errAnswer = errors.New("the answer does not parse")

// farthest bounds the times of rows: no series covers as many seconds.
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

// Export returns a whole series, to the digits that DUMP writes.
func (c *Client) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	f, err := c.Series(ref)
	if err != nil {
		return core.Copy{}, err
	}
	// The server disconnects after a DUMP, so it gets a connection of its own.
	other, err := Dial(ctx, c.addr)
	if err != nil {
		return core.Copy{}, err
	}
	defer func() { _ = other.Close() }() // all was read
	stop := context.AfterFunc(ctx, func() { _ = other.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	series, err := other.dump(c.name(f.Path), f.Path)
	if err != nil {
		return core.Copy{}, fmt.Errorf("dump of %s: %w", c.name(f.Path), err)
	}
	return series, nil
}

// dump sends a DUMP and reads the answer, which is XML or an error.
func (c *Client) dump(name, path string) (core.Copy, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return core.Copy{}, err
	}
	if _, err := c.conn.Write([]byte("DUMP " + name + "\n")); err != nil {
		return core.Copy{}, err
	}
	first, err := c.in.Peek(1)
	if err != nil {
		return core.Copy{}, err
	}
	if first[0] != '<' {
		left := wire.MaxLine
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
