package transfer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/engine/core"
)

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
