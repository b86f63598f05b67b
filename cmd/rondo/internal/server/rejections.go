package server

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/limit"
)

// A rejection is the reason why a request was refused.
type rejection int

const (
	rejectedHost   rejection = iota // the Host or the Origin is foreign
	rejectedPlace                   // no place became free in time
	rejectedSlow                    // the body did not arrive in time
	rejectedMemory                  // requests or answers occupy too much memory
	rejectedLong                    // the body is too long
	rejectedUser                    // no credentials, or wrong ones
	rejectedRole                    // the user may not do this
	rejectedTries                   // too many credentials are being checked
	rejections
)

func (r rejection) String() string {
	return [...]string{"host", "place", "slow", "memory", "long", "user", "role", "tries"}[r]
}

// rejectionTexts are the answers to refused requests.
var rejectionTexts = [rejections]struct {
	code int
	rpc  connect.Code
	text string
}{
	rejectedPlace:  {http.StatusServiceUnavailable, connect.CodeUnavailable, "rondo has too many requests under way"},
	rejectedSlow:   {http.StatusRequestTimeout, connect.CodeDeadlineExceeded, errBodySlow.Error()},
	rejectedMemory: {http.StatusServiceUnavailable, connect.CodeResourceExhausted, limit.ErrMemory.Error()},
	rejectedLong:   {http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted, errBodyLong.Error()},
	rejectedUser:   {http.StatusUnauthorized, connect.CodeUnauthenticated, "say who you are"},
	rejectedRole:   {http.StatusForbidden, connect.CodePermissionDenied, "permission denied"},
	rejectedTries:  {http.StatusTooManyRequests, connect.CodeResourceExhausted, "too many credentials are being checked"},
}

// A rejectedError says why nobody was identified.
type rejectedError struct {
	why  rejection
	text string
}

func (e *rejectedError) Error() string { return e.text }

// The bounds of what is read, and thrown away, of a request that was answered before it had
// arrived.
const (
	discardBytes = 128 << 20        // of the body
	discardPause = time.Second      // without a byte
	discardTime  = 10 * time.Second // altogether
)

// respondEarly answers a request whose body was not read, by write, and ends its connection if it
// is one of HTTP/1: the next request would begin behind a body of any length. Most clients read no
// answer before they have sent their body. If the connection ended before that, it would be reset,
// and the answer lost. So discardRest reads the rest of the body behind the answer, within bounds.
func respondEarly(w http.ResponseWriter, r *http.Request, write func(http.ResponseWriter)) {
	if r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody {
		write(w)
		return
	}
	a := &earlyResponse{ResponseWriter: w, code: http.StatusOK}
	write(a)
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Length", strconv.Itoa(a.body.Len())) // its end is known at once
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body.Bytes()) // the client may be gone
	if conn := connOf(r.Context()); conn != nil {
		conn.unread = r.Header.Get("Expect") == "" // else the client sends no body after this answer
	}
}

// discardRest sends an answer and reads the rest of its request's body, if the answer came before
// it.
func discardRest(c *http.ResponseController, r *http.Request, conn *conn) {
	if conn == nil || r.ProtoMajor != 1 || !conn.unread {
		return
	}
	conn.unread = false
	if c.Flush() != nil {
		return
	}
	for began, n := time.Now(), int64(0); n < discardBytes && time.Since(began) < discardTime; n += pieceBytes {
		_ = c.SetReadDeadline(time.Now().Add(discardPause))
		if _, err := io.CopyN(io.Discard, r.Body, pieceBytes); err != nil {
			return
		}
	}
}

// An earlyResponse keeps an answer until it is complete.
type earlyResponse struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

func (w *earlyResponse) WriteHeader(code int)        { w.code = code }
func (w *earlyResponse) Write(p []byte) (int, error) { return w.body.Write(p) }

// endAmbiguous ends the connection after a request of HTTP/1 that others may see to end somewhere
// else: one with Transfer-Encoding, which Content-Length may stand beside, or one of HTTP/1.0,
// whose Transfer-Encoding is no header there. Package http removes the header that does not count,
// so that it cannot be seen which requests have both. RFC 9112, section 6.3, wants the connection
// of those ended.
func endAmbiguous(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
