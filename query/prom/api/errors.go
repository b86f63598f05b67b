package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/engine/core"
)

// A Kind is one of Prometheus' types of errors.
type Kind string

// The kinds of errors.
const (
	BadData     Kind = "bad_data"    // the expression, or another parameter, is wrong
	Execution   Kind = "execution"   // the expression cannot be evaluated
	Timeout     Kind = "timeout"     // it took too long
	Canceled    Kind = "canceled"    // the client has ended it
	Internal    Kind = "internal"    // the storage has failed
	Unavailable Kind = "unavailable" // the storage, or a part of it, cannot be asked now
)

// KindOf returns the kind of an error of a Handler.
func KindOf(err error) Kind { return asFailure(err).kind }

// clientGone is the status of a request whose client has ended it. Nobody sees it but the log.
const clientGone = 499

func (k Kind) status() int {
	switch k {
	case BadData:
		return http.StatusBadRequest
	case Execution:
		return http.StatusUnprocessableEntity
	case Timeout, Unavailable:
		return http.StatusServiceUnavailable
	case Canceled:
		return clientGone
	}
	return http.StatusInternalServerError
}

// A failure is an error with its type.
type failure struct {
	kind Kind
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func bad(format string, args ...any) error { return &failure{BadData, fmt.Errorf(format, args...)} }

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
		return &failure{Canceled, err}
	}
	if _, ok := errors.AsType[promql.ErrQueryTimeout](err); ok || errors.Is(err, context.DeadlineExceeded) {
		return &failure{Timeout, err}
	}
	stored, failed := errors.AsType[promql.ErrStorage](err)
	if errors.Is(err, core.ErrUnavailable) || failed && errors.Is(stored.Err, core.ErrUnavailable) {
		return &failure{Unavailable, err}
	}
	if failed {
		return &failure{Internal, err}
	}
	return &failure{Execution, err}
}
