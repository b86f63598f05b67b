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

// A refusal is the reason why a request was refused.
type refusal int

const (
	refusedHost   refusal = iota // the Host or the Origin is foreign
	refusedPlace                 // no place became free in time
	refusedSlow                  // the body did not arrive in time
	refusedMemory                // requests or answers occupy too much memory
	refusedLong                  // the body is too long
	refusedUser                  // no credentials, or wrong ones
	refusedRole                  // the user may not do this
	refusedTries                 // too many credentials are being checked
	refusals
)

func (r refusal) String() string {
	return [...]string{"host", "place", "slow", "memory", "long", "user", "role", "tries"}[r]
}

// refusalTexts are the answers to refused requests.
var refusalTexts = [refusals]struct {
	code int
	rpc  connect.Code
	text string
}{
	refusedPlace:  {http.StatusServiceUnavailable, connect.CodeUnavailable, "rondo has too many requests under way"},
	refusedSlow:   {http.StatusRequestTimeout, connect.CodeDeadlineExceeded, errBodySlow.Error()},
	refusedMemory: {http.StatusServiceUnavailable, connect.CodeResourceExhausted, limit.ErrMemory.Error()},
	refusedLong:   {http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted, errBodyLong.Error()},
	refusedUser:   {http.StatusUnauthorized, connect.CodeUnauthenticated, "say who you are"},
	refusedRole:   {http.StatusForbidden, connect.CodePermissionDenied, "permission denied"},
	refusedTries:  {http.StatusTooManyRequests, connect.CodeResourceExhausted, "too many credentials are being checked"},
}

// A refusedError says why nobody was identified.
type refusedError struct {
	why  refusal
	text string
}

func (e *refusedError) Error() string { return e.text }

// The bounds of what is read, and thrown away, of a request that was answered before it had
// arrived.
const (
	declinedBytes = 128 << 20        // of the body
	declinedPause = time.Second      // without a byte
	declinedTime  = 10 * time.Second // altogether
)

// decline answers a request whose body was not read, by write, and ends its connection if it is one
// of HTTP/1: the next request would begin behind a body of any length. Most clients read no answer
// before they have sent their body. If the connection ended before that, it would be reset, and the
// answer lost. So readRest reads the rest of the body behind the answer, within bounds.
func decline(w http.ResponseWriter, r *http.Request, write func(http.ResponseWriter)) {
	if r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody {
		write(w)
		return
	}
	a := &declined{ResponseWriter: w, code: http.StatusOK}
	write(a)
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Length", strconv.Itoa(a.body.Len())) // its end is known at once
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body.Bytes()) // the client may be gone
	if conn := connOf(r.Context()); conn != nil {
		conn.unread = r.Header.Get("Expect") == "" // else the client sends no body after this answer
	}
}

// readRest sends an answer and reads the rest of its request's body, if that was declined.
func readRest(c *http.ResponseController, r *http.Request, conn *conn) {
	if conn == nil || r.ProtoMajor != 1 || !conn.unread {
		return
	}
	conn.unread = false
	if c.Flush() != nil {
		return
	}
	for began, n := time.Now(), int64(0); n < declinedBytes && time.Since(began) < declinedTime; n += pieceBytes {
		_ = c.SetReadDeadline(time.Now().Add(declinedPause))
		if _, err := io.CopyN(io.Discard, r.Body, pieceBytes); err != nil {
			return
		}
	}
}

// A declined keeps an answer until it is complete.
type declined struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

func (a *declined) WriteHeader(code int)        { a.code = code }
func (a *declined) Write(p []byte) (int, error) { return a.body.Write(p) }

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
