package api

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// An output sends an answer in pieces, packed if the client takes that. While the client reads a
// piece the request has no place, so that others go on. After an error the rest is dropped, and end
// breaks the connection off: the client must not take what it has for the whole answer.
type output struct {
	ctx     context.Context
	w       http.ResponseWriter
	turn    *turn // may be nil
	status  int
	gzip    bool
	buf     []byte       // not sent yet
	packer  *gzip.Writer // into packed; nil until the answer is known to be long
	packed  bytes.Buffer
	started bool
	err     error
}

func newOutput(ctx context.Context, w http.ResponseWriter, gzip bool, t *turn) *output {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept-Encoding")
	return &output{ctx: ctx, w: w, turn: t, gzip: gzip, status: http.StatusOK, buf: make([]byte, 0, 4<<10)}
}

// acceptsGzip reports whether a client takes packed answers.
func acceptsGzip(h http.Header) bool {
	for _, list := range h.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(list, ",") {
			name, quality, _ := strings.Cut(part, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q, has := strings.CutPrefix(strings.TrimSpace(quality), "q=")
			f, err := strconv.ParseFloat(q, 64)
			return !has || err != nil || f > 0
		}
	}
	return false
}

// packers are gzip writers for use again; each has hundreds of kilobytes.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// pass sends what is buffered if that is enough for a piece.
func (o *output) pass() {
	if len(o.buf) >= flushBytes {
		o.flush()
	}
}

// flush sends what is buffered, or hands it to the packer.
func (o *output) flush() {
	if o.err == nil && o.ctx.Err() != nil {
		o.err = o.ctx.Err()
	}
	if o.err != nil {
		o.buf = o.buf[:0]
		return
	}
	if o.gzip && o.packer == nil && len(o.buf) >= gzipBytes {
		o.w.Header().Set("Content-Encoding", "gzip")
		o.packer = packers.Get().(*gzip.Writer)
		o.packer.Reset(&o.packed)
	}
	if o.packer == nil {
		o.gzip = false // the head has been sent without it
		o.send(o.buf)
	} else {
		_, o.err = o.packer.Write(o.buf)
		if o.packed.Len() >= flushBytes {
			o.send(o.packed.Bytes())
			o.packed.Reset()
		}
	}
	o.buf = o.buf[:0]
}

// send writes a piece to the client. Others have the place meanwhile.
func (o *output) send(piece []byte) {
	if !o.started {
		o.started = true
		o.w.WriteHeader(o.status)
	}
	if o.turn != nil {
		o.turn.pause()
		defer func() {
			if o.err == nil {
				o.err = o.turn.resume(o.ctx)
			}
		}()
	}
	_, o.err = o.w.Write(piece)
}

// end sends the rest. It panics with http.ErrAbortHandler after an error, which closes the
// connection.
func (o *output) end() {
	if !o.started && (!o.gzip || len(o.buf) < gzipBytes) {
		o.w.Header().Set("Content-Length", strconv.Itoa(len(o.buf)))
	}
	if o.turn != nil { // nothing is computed any more, and the answer must not wait for a place
		o.turn.pause()
		o.turn = nil
	}
	o.flush()
	if o.packer != nil {
		if o.err == nil {
			o.err = o.packer.Close()
		}
		if o.err == nil {
			o.send(o.packed.Bytes())
		}
		packers.Put(o.packer)
		o.packer = nil
	}
	if o.err != nil && o.started {
		panic(http.ErrAbortHandler)
	}
}
