package backend

import (
	"context"
	"errors"
	"io"
	"time"
)

// silence is how long a session without a server keeps the database open while no command arrives.
// A caller can begin another session within a few milliseconds.
const silence = 200 * time.Millisecond

var errSilent = errors.New("nothing was asked for a while")

// An impatient is a reader that ends with errSilent when nothing arrives for a while. What arrives
// later is lost.
type impatient struct {
	ctx  context.Context
	in   io.Reader
	rest []byte // read, and not yet passed on
	err  error  // of in; it is returned behind rest
	more chan piece
}

func (r *impatient) Read(b []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		if r.more == nil {
			r.more = make(chan piece)
			go readPieces(r.ctx, r.in, r.more)
		}
		wait := time.NewTimer(silence)
		defer wait.Stop()
		select {
		case p := <-r.more:
			r.rest, r.err = p.b, p.err
		case <-wait.C:
			return 0, errSilent
		}
	}
	n := copy(b, r.rest)
	if r.rest = r.rest[n:]; n > 0 {
		return n, nil
	}
	return 0, r.err
}

// A piece is what one Read returned.
type piece struct {
	b   []byte
	err error
}

// readPieces passes on what arrives at in, until in or ctx ends. It has two buffers: a piece is
// valid until the piece behind it is received.
func readPieces(ctx context.Context, in io.Reader, to chan<- piece) {
	var buffers [2][]byte
	for i := 0; ; i ^= 1 {
		if buffers[i] == nil {
			buffers[i] = make([]byte, 64<<10)
		}
		n, err := in.Read(buffers[i])
		select {
		case to <- piece{buffers[i][:n], err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
