package transfer

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/rondo-db/rondo/engine"
)

// An ExportStore is what series are exported from. An *engine.Store is one.
type ExportStore interface {
	List(ctx context.Context, prefix, after string) iter.Seq2[engine.Series, error]
	Export(ctx context.Context, ref engine.Ref) (engine.Copy, error)
}

// Export calls fn with the file of every series whose path begins with prefix, native or XML, or with the reason that there
// is none. Data is valid until fn returns. An error is one of the store, of ctx or of fn, which ends it.
func Export(ctx context.Context, s ExportStore, prefix string, xml bool, fn func(path string, data []byte, err error) error) error {
	var buf []byte
	for series, err := range s.List(ctx, prefix, "") {
		if err != nil {
			return err
		}
		c, err := s.Export(ctx, series.Ref)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			continue // dropped, or replaced by another, meanwhile
		case err != nil:
			return err
		}
		buf, err = encode(buf[:0], &c, xml)
		if err := fn(series.Path, buf, err); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// encode appends the file of a series.
func encode(b []byte, c *engine.Copy, xml bool) ([]byte, error) {
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
