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
	"github.com/rondo-db/rondo/query/dashboards"
)

// wrong returns the error of a mistake in an address: the status is 400.
func wrong(format string, args ...any) error { return fmt.Errorf(format, args...) }

// errBusy says that no place became free for a graph in time.
var errBusy = errors.New("too many graphs are being drawn: try again in some seconds")

func statusOf(err error) int {
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
	}
	return http.StatusBadRequest // what remains are mistakes in an address, and of the graph language
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
