package copying

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/abreast"
)

// part copies some series.
func (r *run) part(ctx context.Context, part []core.Series) error {
	refs := make([]core.Ref, len(part))
	for i := range part {
		refs[i] = part[i].Ref
	}
	if err := r.From.Flush(ctx, refs); err != nil {
		return fmt.Errorf("apply the samples that are held: %w", err)
	}
	var batch []whole
	size := 0
	for _, x := range part {
		w, err := r.export(ctx, x)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.failed(x.Path, err)
			continue
		}
		batch = append(batch, w)
		if size += len(w.packed); size >= chunkBytes {
			if err := r.send(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
	return r.send(ctx, batch)
}

// A whole is a series with its binary form.
type whole struct {
	ref    core.Ref // in From
	copied core.Copy
	packed []byte
}

func (r *run) export(ctx context.Context, x core.Series) (whole, error) {
	c, err := exported(ctx, r.From, x.Ref, r.Patience)
	if err != nil {
		return whole{}, err
	}
	packed := pack(&c)
	return whole{x.Ref, c, packed}, nil
}

// pack returns the binary form of c. It first takes unknown rows off the front of c, and gives all
// others the same bits: which of the NaNs an unknown row is depends on whether it was stored
// already, and nothing depends on it.
func pack(c *core.Copy) []byte {
	sources, size := 1, 1024
	if c.Definition != nil {
		sources = max(len(c.Definition.Sources), 1)
	}
	for i, rows := range c.Rows {
		known := slices.IndexFunc(rows, func(v float64) bool { return v == v })
		if known < 0 {
			known = len(rows)
		}
		rows = rows[known-known%sources:]
		for j, v := range rows {
			if v != v {
				rows[j] = math.NaN()
			}
		}
		c.Rows[i] = rows
		size += 8 * len(rows)
	}
	packed, _ := c.AppendBinary(make([]byte, 0, size+8*len(c.State.W))) // it does not fail
	return packed
}

// exported reads a series. Where others use the memory at the moment, it waits.
func exported(ctx context.Context, e core.Engine, ref core.Ref, patience time.Duration) (c core.Copy, err error) {
	err = again(ctx, patience, func() error {
		c, err = e.Export(ctx, ref)
		return err
	})
	return c, err
}

// send makes series in To, reads them back and compares.
func (r *run) send(ctx context.Context, batch []whole) error {
	present, err := r.make(ctx, batch, false)
	if err != nil {
		return err
	}
	replace := make([]bool, len(present))
	abreast.Each(len(present), readers, func(i int) { replace[i] = r.meet(ctx, present[i]) })
	if err := ctx.Err(); err != nil {
		return err
	}
	var older []whole
	for i, w := range present {
		if replace[i] {
			older = append(older, w)
		}
	}
	_, err = r.make(ctx, older, true)
	return err
}

// make imports series, reads back those that were made, and compares. It returns those that To had
// already, unless they are to be replaced.
func (r *run) make(ctx context.Context, batch []whole, replace bool) (taken []whole, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	out, err := r.create(ctx, batch, replace)
	if err == nil {
		err = ctx.Err() // which series were made is not known, and none has failed: the next Copy looks
	}
	if err != nil {
		return nil, err
	}
	var back []int
	for i, w := range batch {
		switch err := out[i].Err; {
		case errors.Is(err, core.ErrExists) && !replace:
			taken = append(taken, w)
		case err != nil:
			r.failed(w.copied.Path, err)
		default:
			back = append(back, i)
		}
	}
	abreast.Each(len(back), readers, func(k int) {
		i := back[k]
		r.readBack(ctx, batch[i], out[i].Ref, replace)
	})
	return taken, ctx.Err()
}

// readBack compares a series that was made.
func (r *run) readBack(ctx context.Context, w whole, ref core.Ref, replaced bool) {
	same, err := r.same(ctx, w, ref)
	switch {
	case ctx.Err() != nil: // it is not known, and the next Copy looks again
	case err == nil && same:
		r.count(w.copied.Path, w.packed, func(out *Result) {
			if replaced {
				out.Replaced++
			} else {
				out.Copied++
			}
		})
	case err != nil:
		r.failed(w.copied.Path, fmt.Errorf("read back: %w", err))
	case r.own(w.copied.Path):
		r.kept(w.copied.Path)
	default:
		r.failed(w.copied.Path, errDiffers)
	}
}

// readers is how many series of a part are read back at the same time.
const readers = 8

var errDiffers = errors.New("what is read back is not what was written: somebody else writes the series")

// create imports series, and tries those again that may succeed later.
func (r *run) create(ctx context.Context, batch []whole, replace bool) ([]core.Created, error) {
	out := make([]core.Created, len(batch))
	left := make([]int, len(batch))
	for i := range left {
		left[i] = i
	}
	err := again(ctx, r.Patience, func() error {
		copies := make([]core.Copy, len(left))
		for k, i := range left {
			copies[k] = batch[i].copied
		}
		got, failed := core.Import(ctx, r.To, copies, replace)
		var rest []int
		for k, i := range left {
			if k >= len(got) || got[k].Ref == 0 && (got[k].Err == nil || passing(got[k].Err)) {
				rest = append(rest, i)
				if k < len(got) && failed == nil {
					failed = got[k].Err
				}
				continue
			}
			out[i] = got[k]
		}
		if left = rest; len(left) == 0 {
			return nil
		}
		if failed == nil {
			failed = errors.New("some series have no outcome")
		}
		return failed
	})
	return out, err
}

// meet compares a series that To has with From's. It says whether To's is to be replaced.
func (r *run) meet(ctx context.Context, w whole) (replace bool) {
	path := w.copied.Path
	same, err := r.same(ctx, w, 0)
	newer := false
	if err == nil && !same && !r.own(path) {
		newer, err = r.newer(ctx, w)
	}
	switch {
	case ctx.Err() != nil: // as in readBack
	case errors.Is(err, core.ErrNotFound): // dropped meanwhile
		return true
	case err != nil:
		r.failed(path, err)
	case same:
		r.count(path, w.packed, func(out *Result) { out.Equal++ })
	case r.own(path):
		r.kept(path)
	case newer:
		r.failed(path, errNewer)
	default:
		return true
	}
	return false
}

// errNewer says that somebody has written into a series.
var errNewer = errors.New("it has newer samples here than where it is copied from, so it stays as it is")

// newer says whether To's series was updated after From's.
func (r *run) newer(ctx context.Context, w whole) (newer bool, err error) {
	mine, err := core.Last(ctx, r.From, w.ref)
	if err != nil {
		return false, err
	}
	err = again(ctx, r.Patience, func() error {
		ref, err := r.To.Lookup(w.copied.Path)
		if err != nil {
			return err
		}
		theirs, err := core.Last(ctx, r.To, ref)
		newer = theirs > mine
		return err
	})
	return newer, err
}

// same says whether To has a series as w is. ref is the series, or 0.
func (r *run) same(ctx context.Context, w whole, ref core.Ref) (same bool, err error) {
	err = again(ctx, r.Patience, func() (err error) {
		if ref == 0 {
			if ref, err = r.To.Lookup(w.copied.Path); err != nil {
				return err
			}
		}
		c, err := r.To.Export(ctx, ref)
		if err != nil {
			return err
		}
		same = bytes.Equal(pack(&c), w.packed)
		return nil
	})
	return same, err
}
