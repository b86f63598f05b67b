package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
)

// pieceBytes is how many bytes of a body are read, or of an answer written, before the deadline is
// renewed.
const pieceBytes = 64 << 10

// A pace says how long a client may take to send or read n bytes: the time grace, and a second for
// each rate bytes.
type pace struct {
	grace time.Duration
	rate  int64 // bytes a second
}

func (p pace) deadline(start time.Time, n int64) time.Time {
	return start.Add(p.grace + time.Duration(n*int64(time.Second)/p.rate))
}

// The reasons why a body is refused.
var (
	errBodyLong = errors.New("the request is too long")
	errBodySlow = errors.New("the request did not arrive in time")
)

// readBody reads the whole body of r. A client that sends slowly, or nothing, waits here without
// occupying a place. The bytes that have arrived are charged to held.
func readBody(c *http.ResponseController, r *http.Request, most int64, p pace, held *limit.Account) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > most {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken", errBodyLong, r.ContentLength, most)
	}
	var b bytes.Buffer
	for start := time.Now(); ; {
		if b.Len() > 0 { // before the first byte the deadline of the whole request applies
			_ = c.SetReadDeadline(p.deadline(start, int64(b.Len())))
		}
		charge := int64(pieceBytes)
		if r.ContentLength >= 0 {
			charge = min(charge, r.ContentLength)
		}
		if err := held.Charge(charge); err != nil {
			return nil, err
		}
		if b.Len() == 0 && charge < pieceBytes {
			b.Grow(int(charge) + bytes.MinRead) // ReadFrom wants as much free to see the end
		}
		_, err := io.CopyN(&b, r.Body, pieceBytes)
		switch {
		case int64(b.Len()) > most:
			return nil, fmt.Errorf("%w: more than %d bytes", errBodyLong, most)
		case errors.Is(err, io.EOF):
			return b.Bytes(), nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, fmt.Errorf("%w: %d bytes have", errBodySlow, b.Len())
		case err != nil:
			return nil, err
		}
	}
}

// An answer passes the output of a handler to the client, as fast as the client reads but not
// slower than pace. The handler's work is done when it writes the first byte; begun is then called,
// which gives the place of the request to another one.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
	begun   func()
	start   time.Time // of the first Write
	written int64
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush sends what is buffered.
func (a *answer) Flush() { _ = a.control.Flush() }

// Write writes p in pieces, each with a deadline of its own.
func (a *answer) Write(p []byte) (written int, err error) {
	if a.start.IsZero() {
		a.start = time.Now()
		a.begun()
	}
	for {
		piece := p[written:min(written+pieceBytes, len(p))]
		_ = a.control.SetWriteDeadline(a.pace.deadline(a.start, a.written))
		n, err := a.ResponseWriter.Write(piece)
		written += n
		a.written += int64(n)
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// end sets the write deadline of an answer without a body, whose head has not been sent yet.
func (a *answer) end() {
	if a.start.IsZero() {
		_ = a.control.SetWriteDeadline(a.pace.deadline(time.Now(), 0))
	}
}
