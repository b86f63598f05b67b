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
		if err := a.read(ctx, f); err != nil {
			a.bad(err)
		}
		a.release()
		_ = f.Close() // only read
		s.cfg.Logger.Info("mono: file read", "file", f.Name(), "samples", a.samples)
	}
}

// read reads f to its end, or until ctx ends.
func (a *agent) read(ctx context.Context, f io.Reader) error {
	buf := make([]byte, readBytes)
	for ctx.Err() == nil {
		n, err := f.Read(buf)
		a.s.Bytes.Add(uint64(n))
		if n > 0 {
			if _, err := a.feed(ctx, buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return a.dec.Close()
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
	return nil
}
