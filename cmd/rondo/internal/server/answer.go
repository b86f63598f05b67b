package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/rondo-db/rondo/query/rpc"
)

// pieceBytes is how much is read of a body, or written of an answer, before its deadline moves on.
const pieceBytes = 64 << 10

// A pace says how long a client may take to send or read n bytes: grace, and a second for each rate
// bytes.
type pace struct {
	grace time.Duration
	rate  int64 // bytes a second
}

func (p pace) deadline(start time.Time, n int64) time.Time {
	return start.Add(p.grace + time.Duration(n*int64(time.Second)/p.rate))
}

// Why a body was not taken.
var (
	errBodyLong = errors.New("the request is too long")
	errBodySlow = errors.New("the request did not arrive in time")
)

// readBody reads the body of r as a whole: a client that sends slowly, or nothing, waits here and
// holds no place. What has arrived is charged to held.
func readBody(c *http.ResponseController, r *http.Request, most int64, p pace, held *rpc.Account) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > most {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken", errBodyLong, r.ContentLength, most)
	}
	var b bytes.Buffer
	for start := time.Now(); ; {
		if b.Len() > 0 { // until then the deadline of the whole request holds
			_ = c.SetReadDeadline(p.deadline(start, int64(b.Len())))
		}
		charge := int64(pieceBytes)
		if r.ContentLength >= 0 {
			charge = min(charge, r.ContentLength)
		}
		if err := held.Charge(charge); err != nil {
			return nil, err
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

// An answer passes what a handler writes to the client, as fast as the client reads but no slower
// than its pace. When the first byte is written the handler has done its work: begun is called,
// which gives its place to another.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
	begun   func()
	start   time.Time // of the first Write
	written int64
}

// Unwrap returns the writer beneath, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush sends what is buffered.
func (a *answer) Flush() { _ = a.control.Flush() }

// Write writes p in pieces, each with its deadline.
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

// end sets the write deadline of an answer without a body, whose head is still to be sent.
func (a *answer) end() {
	if a.start.IsZero() {
		_ = a.control.SetWriteDeadline(a.pace.deadline(time.Now(), 0))
	}
}
