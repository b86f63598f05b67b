package middleware

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/limit"
)

// A Rejection is the reason why a request was refused.
type Rejection int

// The reasons why a request is refused.
const (
	RejectedHost   Rejection = iota // the Host or the Origin is foreign
	RejectedPlace                   // no place became free in time
	RejectedSlow                    // the body did not arrive in time
	RejectedMemory                  // requests or answers occupy too much memory
	RejectedLong                    // the body is too long
	RejectedUser                    // no credentials, or wrong ones
	RejectedRole                    // the user may not do this
	RejectedTries                   // too many credentials are being checked
	rejections
)

func (r Rejection) String() string {
	return [...]string{"host", "place", "slow", "memory", "long", "user", "role", "tries"}[r]
}

// rejectionTexts are the answers to refused requests.
var rejectionTexts = [rejections]struct {
	code int
	rpc  connect.Code
	text string
}{
	RejectedPlace:  {http.StatusServiceUnavailable, connect.CodeUnavailable, "rondo has too many requests under way"},
	RejectedSlow:   {http.StatusRequestTimeout, connect.CodeDeadlineExceeded, errBodySlow.Error()},
	RejectedMemory: {http.StatusServiceUnavailable, connect.CodeResourceExhausted, limit.ErrMemory.Error()},
	RejectedLong:   {http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted, errBodyLong.Error()},
	RejectedUser:   {http.StatusUnauthorized, connect.CodeUnauthenticated, "say who you are"},
	RejectedRole:   {http.StatusForbidden, connect.CodePermissionDenied, "permission denied"},
	RejectedTries:  {http.StatusTooManyRequests, connect.CodeResourceExhausted, "too many credentials are being checked"},
}

// A RejectedError says why nobody was identified.
type RejectedError struct {
	Why  Rejection
	Text string
}

func (e *RejectedError) Error() string { return e.Text }

// The bounds of what is read, and thrown away, of a request that was answered before it had
// arrived.
const (
	discardBytes = 128 << 20        // of the body
	discardPause = time.Second      // without a byte
	discardTime  = 10 * time.Second // altogether
)

// RespondEarly answers a request whose body was not read, by write, and ends its connection if it
// is one of HTTP/1: the next request would begin behind a body of any length. Most clients read no
// answer before they have sent their body. If the connection ended before that, it would be reset,
// and the answer lost. So discardRest reads the rest of the body behind the answer, within bounds.
func RespondEarly(w http.ResponseWriter, r *http.Request, write func(http.ResponseWriter)) {
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
