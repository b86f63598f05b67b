package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unicode/utf8"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/hosts"
	"github.com/rondo-db/rondo/query/search"
)

// codes gives each error the code by which a client decides what to do about it. The first match
// counts: an error that wraps both ErrInvalid and ErrNotFound, because a path is malformed, is an
// invalid argument.
var codes = []struct {
	err  error
	code connect.Code
}{
	{access.ErrDenied, connect.CodePermissionDenied},
	{core.ErrDamaged, connect.CodeDataLoss},
	{core.ErrInvalid, connect.CodeInvalidArgument},
	{core.ErrShape, connect.CodeInvalidArgument},
	{core.ErrTooLarge, connect.CodeInvalidArgument},
	{core.ErrNotFound, connect.CodeNotFound},
	{query.ErrNoArchive, connect.CodeNotFound},
	{search.ErrFolder, connect.CodeNotFound},
	{search.ErrHost, connect.CodeNotFound},
	{hosts.ErrSort, connect.CodeInvalidArgument},
	{search.ErrQuery, connect.CodeInvalidArgument},
	{search.ErrPage, connect.CodeInvalidArgument},
	{core.ErrExists, connect.CodeAlreadyExists},
	{limit.ErrMemory, connect.CodeResourceExhausted},
	{errFileLong, connect.CodeResourceExhausted},
	{core.ErrSeriesLimit, connect.CodeResourceExhausted},
	{core.ErrMemory, connect.CodeResourceExhausted},
	{core.ErrFull, connect.CodeResourceExhausted},
	{syscall.ENOSPC, connect.CodeResourceExhausted},
	{syscall.EDQUOT, connect.CodeResourceExhausted},
	{core.ErrReadOnly, connect.CodeFailedPrecondition},
	{core.ErrBase, connect.CodeFailedPrecondition},
	{core.ErrVersion, connect.CodeFailedPrecondition},
	{core.ErrNoFolder, connect.CodeFailedPrecondition},
	{dashboards.ErrFolder, connect.CodeFailedPrecondition},
	{core.ErrUnavailable, connect.CodeUnavailable},
	{core.ErrNotLeader, connect.CodeUnavailable},
	{core.ErrClosed, connect.CodeUnavailable},
	{core.ErrLogClosed, connect.CodeUnavailable},
	{core.ErrGone, connect.CodeUnavailable},
	{core.ErrSealed, connect.CodeUnavailable},
	{core.ErrRetry, connect.CodeUnavailable},
	{context.Canceled, connect.CodeCanceled},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
}

// fail returns err with its code, behind the formatted text, which says what was being done.
func fail(err error, format string, args ...any) error {
	return coded(fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err))
}

// coded returns err with its code. It is for errors that already say what was being done.
func coded(err error) error {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return connect.NewError(c.code, bounded(err))
		}
	}
	return connect.NewError(connect.CodeInternal, bounded(err))
}

// invalid returns an error of the code invalid_argument.
func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, bounded(fmt.Errorf(format, args...)))
}

// exhausted returns an error of the code resource_exhausted.
func exhausted(format string, args ...any) error {
	return connect.NewError(connect.CodeResourceExhausted, bounded(fmt.Errorf(format, args...)))
}

// errNoSource returns an error for a data source that a series lacks.
func errNoSource(name, path string) error {
	return bounded(fmt.Errorf("%.200q has no data source %.200q", path, name))
}

// errNothingBelow returns an error for a prefix without series.
func errNothingBelow(prefix string) error {
	return bounded(fmt.Errorf("no series is %.200q or below it", prefix))
}

// messageOf returns the text of an error without its code.
func messageOf(err error) string {
	var e *connect.Error
	if errors.As(err, &e) {
		return e.Message()
	}
	return bounded(err).Error()
}

// maxError bounds the text of an error that is sent to a client, in bytes. An error may quote what
// the client has sent, which may be long.
const maxError = 1024

// bounded returns err with at most maxError bytes of text.
func bounded(err error) error {
	if len(err.Error()) <= maxError {
		return err
	}
	return &boundedError{err}
}

// A boundedError prints the first maxError bytes of an error, and its length.
type boundedError struct{ err error }

func (e *boundedError) Error() string {
	text := e.err.Error()
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxError], string(utf8.RuneError)), len(text))
}

func (e *boundedError) Unwrap() error { return e.err }

// maxQuoted bounds how much of a request's text an error quotes, in bytes.
const maxQuoted = 200

// cut returns text, shortened to maxQuoted bytes.
func cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

// errFileLong says that a file does not fit into the memory that there is for it.
var errFileLong = errors.New("the file is too long")
