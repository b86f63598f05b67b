package influx

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxUnpacked  = 64 << 20    // bytes of a body
	chunk        = 4 * MaxLine // bytes of a packed body that are unpacked at a time
	batchSamples = 16384       // from so many on a batch is stored before more lines are read
	maxErrors    = 16          // errors in an answer
)

// A write is one request to write lines.
type write struct {
	reader
	*receivers.Requests
	batch   core.Batch
	buf     []byte       // of a packed body: what is unpacked
	unzip   *gzip.Reader // nil: none was needed yet
	errs    []string
	more    int   // errors that are not in errs
	dropped int   // values that were not stored, of lines that are right
	stored  int   // values
	failed  error // the sink has failed
}

// Add adds a sample to the batch: see taker.
func (q *write) Add(ref core.Ref, at rra.Time, values []rra.Value) bool {
	q.batch.Add(ref, at, values...)
	return true
}

func newWrite(t *intake, under *receivers.Requests) *write {
	q := &write{Requests: under}
	q.reader = reader{intake: t, out: q, bad: q.bad, room: func() bool { return q.batch.Len() < batchSamples }}
	return q
}

// bad keeps an error for the answer to the sender.
func (q *write) bad(err error, values int) {
	q.dropped += values
	switch t := err.Error(); {
	case slices.Contains(q.errs, t):
	case len(q.errs) == maxErrors:
		q.more++
	default:
		q.errs = append(q.errs, t)
	}
}

// end makes q ready for the next request.
func (q *write) end() {
	q.batch.Reset()
	q.errs, q.more, q.dropped, q.stored, q.failed = q.errs[:0], 0, 0, 0, nil
}

// lines stores the lines that the decoder has.
func (q *write) lines(ctx context.Context) {
	for through := false; !through && q.failed == nil; {
		through = q.read()
		if q.failed = q.resolve(ctx); q.failed == nil {
			q.store(ctx)
		}
	}
}

// store stores the batch.
func (q *write) store(ctx context.Context) {
	n := q.batch.Len()
	if n == 0 {
		return
	}
	known := q.Generation()
	err := q.Store(ctx, &q.batch, n)
	q.batch.Reset()
	if q.Generation() != known {
		q.forget(q.now)
	}
	var rejected *core.RejectedError
	switch {
	case err == nil:
		q.stored += n
	case errors.As(err, &rejected):
		q.stored += n - rejected.Late - rejected.Other
		if rejected.Late > 0 {
			q.bad(errLate, rejected.Late)
		}
		if rejected.Other > 0 {
			q.bad(errRefused, rejected.Other)
		}
	default:
		q.failed = err
	}
}

var (
	errLate     = errors.New("values are not after the last ones of their series")
	errRefused  = errors.New("values do not fit their series")
	errUnpacked = fmt.Errorf("the body is longer than %d bytes when it is unpacked", maxUnpacked)
)

// packed stores the lines of a body that is packed with gzip, as much of it at a time as fits into
// a buffer.
func (q *write) packed(ctx context.Context, body []byte) {
	// The last bytes say how long it is, if they are true. If that is too long, nothing is stored.
	n := len(body)
	tooLong := n >= 4 && binary.LittleEndian.Uint32(body[n-4:]) > maxUnpacked
	in := bytes.NewReader(body)
	var err error
	if q.unzip == nil {
		q.unzip, err = gzip.NewReader(in)
	} else {
		err = q.unzip.Reset(in)
	}
	if err != nil {
		q.broken(err)
		return
	}
	if q.buf == nil {
		q.buf = make([]byte, chunk)
	}
	have, total := 0, 0
	for q.failed == nil {
		n, err := fill(q.unzip, q.buf[have:])
		if total += n; total > maxUnpacked {
			q.tooLong()
			return
		}
		if err != nil && err != io.EOF {
			q.broken(err)
			return
		}
		q.dec.Reset(q.buf[:have+n], q.src.unit, err == io.EOF)
		if tooLong {
			q.dec.Reset(nil, q.src.unit, true)
		}
		q.lines(ctx)
		if err == io.EOF {
			return
		}
		have = copy(q.buf, q.dec.Rest())
	}
}

// fill reads until b is full, or r ends. The error is io.EOF if r has ended as it should.
func fill(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
	}
	return n, err
}

// tooLong counts a body that is too long.
func (q *write) tooLong() {
	q.Drop(receivers.Limit, 1)
	q.bad(errUnpacked, 0)
}

// broken counts a body that cannot be unpacked.
func (q *write) broken(err error) {
	q.Drop(receivers.Malformed, 1)
	q.bad(fmt.Errorf("the body is no gzip: %w", err), 0)
}

// answer reports to the sender what has become of its lines.
func (q *write) answer(w http.ResponseWriter, r *http.Request) {
	text := strings.Join(q.errs, "\n")
	if q.more > 0 {
		text += fmt.Sprintf("\nand %d more", q.more)
	}
	switch {
	case q.failed != nil:
		w.Header().Set("Retry-After", "1")
		fail(w, r, http.StatusServiceUnavailable, "not stored, send it again: "+q.failed.Error())
	case len(q.errs) == 0:
		w.WriteHeader(http.StatusNoContent)
	case slices.Contains(q.errs, errUnpacked.Error()):
		fail(w, r, http.StatusRequestEntityTooLarge, text)
	case q.stored == 0 && q.dropped == 0:
		fail(w, r, http.StatusBadRequest, text)
	default:
		fail(w, r, http.StatusBadRequest, fmt.Sprintf("partial write: %s dropped=%d", text, q.dropped))
	}
}
