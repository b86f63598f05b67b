package rrdclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// This file makes a client a store of package rrdtool. The protocol can do less than a store: the
// server chooses the archive of a fetch, and it shows the state of a series but cannot be given
// one.

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
