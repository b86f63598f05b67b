package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/engine/core"
)

// A kind is one of Prometheus' types of errors.
type kind string

const (
	badData     kind = "bad_data"
	execution   kind = "execution"
	timeout     kind = "timeout"
	canceled    kind = "canceled"
	internal    kind = "internal"
	unavailable kind = "unavailable"
)

// clientGone is the status of a request whose client has ended it. Nobody sees it but the log.
const clientGone = 499

func (k kind) status() int {
	switch k {
	case badData:
		return http.StatusBadRequest
	case execution:
		return http.StatusUnprocessableEntity
	case timeout, unavailable:
		return http.StatusServiceUnavailable
	case canceled:
		return clientGone
	}
	return http.StatusInternalServerError
}

// A failure is an error with its type.
type failure struct {
	kind kind
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func bad(format string, args ...any) error { return &failure{badData, fmt.Errorf(format, args...)} }

// badParameter says that a parameter has a wrong value, in Prometheus' words.
func badParameter(name string, err error) error { return bad("invalid parameter %q: %w", name, err) }

// errQueued says that no place became free for a request in time.
var errQueued = errors.New("query timed out in query queue")

// asFailure gives an error its type.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if _, ok := errors.AsType[promql.ErrQueryCanceled](err); ok || errors.Is(err, context.Canceled) {
		return &failure{canceled, err}
	}
	if _, ok := errors.AsType[promql.ErrQueryTimeout](err); ok || errors.Is(err, context.DeadlineExceeded) {
		return &failure{timeout, err}
	}
	stored, failed := errors.AsType[promql.ErrStorage](err)
	if errors.Is(err, core.ErrUnavailable) || failed && errors.Is(stored.Err, core.ErrUnavailable) {
		return &failure{unavailable, err}
	}
	if failed {
		return &failure{internal, err}
	}
	return &failure{execution, err}
}
