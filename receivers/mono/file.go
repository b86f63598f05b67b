package mono

import (
	"context"
	"fmt"
	"io"

	"github.com/rondo-db/rondo/receivers"
)

// readFiles reads the recorded files, one after the other. It waits for the store and sheds
// nothing.
func (s *server) readFiles(ctx context.Context) {
	if len(s.files) == 0 {
		return
	}
	q := receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	defer q.Stop()
	for _, f := range s.files {
		a := &agent{s: s, peer: f.peer, host: f.peer, queue: q}
		f.ctx, f.read = ctx, &s.Bytes
		switch err := a.decode(ctx, f); {
		case ctx.Err() != nil:
		case err == io.EOF:
			if err := a.dec.Close(); err != nil {
				a.bad(err)
			}
		default:
			a.bad(fmt.Errorf("read: %w", err))
		}
		a.release()
		_ = f.Close() // only read
		s.cfg.Logger.Info("mono: file read", "file", f.Name(), "samples", a.samples)
	}
}
