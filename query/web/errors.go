package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A wrongError is a mistake in an address: the status is 400.
type wrongError struct{ error }

func (e wrongError) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return wrongError{fmt.Errorf(format, args...)} }

// errBusy says that no place became free for a graph in time.
var errBusy = errors.New("too many graphs are being drawn: try again in some seconds")

func statusOf(err error) int {
	var size *rrdtool.SizeError
	var rows *query.RangeError
	switch {
	case errors.Is(err, access.ErrDenied):
		return http.StatusForbidden
	case errors.Is(err, core.ErrNotFound), errors.Is(err, dashboards.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, errBusy), errors.Is(err, limit.ErrMemory), errors.Is(err, core.ErrClosed), errors.Is(err, core.ErrUnavailable):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, dashboards.ErrFolder):
		return http.StatusConflict
	case errors.Is(err, core.ErrDamaged):
		return http.StatusInternalServerError
	case errors.As(err, &size), errors.As(err, &rows), errors.As(err, new(wrongError)):
		return http.StatusBadRequest
	}
	return http.StatusBadRequest // what remains are errors of the graph language
}

// maxErrorBytes bounds the text of an error, which may quote what the client has sent.
const maxErrorBytes = 1024

// fail answers with an error as plain text.
func fail(w http.ResponseWriter, err error) {
	code, text := statusOf(err), err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("the graph takes longer than %v: ask for less", maxTime)
	}
	if len(text) > maxErrorBytes {
		text = strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
	}
	h := w.Header()
	h.Del("ETag")
	h.Set("Cache-Control", "no-store")
	if code == http.StatusServiceUnavailable {
		h.Set("Retry-After", retryAfter)
	}
	http.Error(w, text, code)
}
