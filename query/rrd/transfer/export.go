package transfer

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

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
// why a series has no file. The calls come in any order, up to Jobs at a time. data is valid until
// fn returns. Export itself returns the error of ctx, of fn, or of a closed store.
func Export(ctx context.Context, s ExportStore, prefix string, o ExportOptions, fn func(path string, data []byte, err error) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan core.Series)
	var workers sync.WaitGroup
	for range max(o.Jobs, 1) {
		workers.Go(func() {
			var buf []byte
			for series := range queue {
				if ctx.Err() != nil {
					continue
				}
				var err error
				if buf, err = exportOne(ctx, s, series, buf[:0], o.XML, fn); err != nil {
					cancel(err)
				}
			}
		})
	}
	for series, err := range s.Select(ctx, core.Query{Prefix: prefix, Order: core.ByPath}) {
		if err != nil {
			cancel(err)
		}
		if ctx.Err() != nil {
			break
		}
		queue <- series
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}

// exportOne exports a series. It returns buf, which may have grown.
func exportOne(ctx context.Context, s ExportStore, series core.Series, buf []byte, xml bool, fn func(path string, data []byte, err error) error) ([]byte, error) {
	c, err := s.Export(ctx, series.Ref)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return buf, nil // the series was dropped or replaced meanwhile
	case ctx.Err() != nil || errors.Is(err, core.ErrClosed):
		return buf, err
	case err != nil: // other series may be intact
		return buf, fn(series.Path, nil, err)
	}
	data, err := Encode(buf, &c, xml)
	if cap(data) > cap(buf) {
		buf = data
	}
	return buf, fn(series.Path, data, err)
}

// Encode appends the file of a series to b: a native file, or XML.
func Encode(b []byte, c *core.Copy, xml bool) ([]byte, error) {
	f, err := FileOf(c)
	if err != nil {
		return b, err
	}
	if !xml {
		return f.AppendBinary(b)
	}
	out := bytes.NewBuffer(b)
	err = f.WriteXML(out, 0, time.Local)
	return out.Bytes(), err
}
