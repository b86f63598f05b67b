package transfer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// CopyOf returns the series of a file, for [core.Store.Import]. The copy shares the rows of f. The
// error is a [*rra.FieldError] if the file holds something that a series cannot hold.
func CopyOf(path string, f *rrdfile.File) (core.Copy, error) {
	c, _, err := copyOf(path, f)
	return c, err
}

func copyOf(path string, f *rrdfile.File) (core.Copy, *rra.Machine, error) {
	m, err := f.Machine()
	if err != nil {
		return core.Copy{}, nil, err
	}
	state, err := f.StateOf(m)
	if err != nil {
		return core.Copy{}, nil, err
	}
	c := core.Copy{Path: path, Definition: m.Definition(), State: state, Rows: make([][]float64, len(f.State.Archives))}
	for i := range c.Rows {
		if m.StreamOf(i) >= 0 {
			c.Rows[i] = f.State.Archives[i].Rows
		}
	}
	return c, m, nil
}

// FileOf returns the file of a series. The file may share rows of c.
func FileOf(c *core.Copy) (*rrdfile.File, error) {
	m, err := rra.Compile(c.Definition)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, len(c.Rows))
	for i := range rows {
		want := int(c.Definition.Archives[i].Rows) * len(c.Definition.Sources)
		rows[i] = c.Rows[i]
		if missing := want - len(rows[i]); missing > 0 && m.StreamOf(i) >= 0 {
			rows[i] = append(slices.Repeat([]float64{math.NaN()}, missing), rows[i]...)
		}
	}
	return rrdfile.New(m, &c.State, rows)
}

// cookie is the beginning of every native file.
const cookie = "RRD\x00"

// IsNative reports whether a file that begins with b is a native file, and not XML.
func IsNative(b []byte) bool { return bytes.HasPrefix(b, []byte(cookie)) }

func decodeXML(r io.Reader) (*rrdfile.File, error) {
	f, err := rrdfile.ReadXML(r, rrdfile.XMLOptions{WholeHistory: true, XenServer: true})
	if err != nil {
		return nil, fmt.Errorf("neither a native file nor XML of rrdtool: %w", err)
	}
	return f, nil
}

// An ExportStore is the store that series are exported from, such as a [core.Store].
type ExportStore interface {
	Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error]
	Export(ctx context.Context, ref core.Ref) (core.Copy, error)
}

// ExportOptions say how series are exported.
type ExportOptions struct {
	XML  bool // write XML instead of native files
	Jobs int  // files that are made at the same time; less than 1 means 1
}

// Export calls fn with the file of every series whose path begins with prefix, or with the error
// why a series has no file. The calls come in any order, up to Jobs at a time. Export itself
// returns the error of ctx, of fn, or of a closed store.
func Export(ctx context.Context, s ExportStore, prefix string, o ExportOptions, fn func(path string, data []byte, err error) error) error {
	workers, working := errgroup.WithContext(ctx)
	workers.SetLimit(max(o.Jobs, 1))
	for series, err := range s.Select(working, core.Query{Prefix: prefix, Order: core.ByPath}) {
		if working.Err() != nil {
			break
		}
		workers.Go(func() error {
			if err != nil {
				return err
			}
			return exportOne(working, s, series, o.XML, fn)
		})
	}
	err := workers.Wait()
	return cmp.Or(context.Cause(ctx), err)
}

// exportOne exports a series.
func exportOne(ctx context.Context, s ExportStore, series core.Series, xml bool, fn func(path string, data []byte, err error) error) error {
	c, err := s.Export(ctx, series.Ref)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil // the series was dropped or replaced meanwhile
	case ctx.Err() != nil || errors.Is(err, core.ErrClosed):
		return err
	case err != nil: // other series may be intact
		return fn(series.Path, nil, err)
	}
	data, err := Encode(&c, xml)
	return fn(series.Path, data, err)
}

// Encode returns the file of a series: a native file, or XML.
func Encode(c *core.Copy, xml bool) ([]byte, error) {
	f, err := FileOf(c)
	if err != nil {
		return nil, err
	}
	if !xml {
		return f.AppendBinary(nil)
	}
	var out bytes.Buffer
	err = f.WriteXML(&out, 0, time.Local)
	return out.Bytes(), err
}
