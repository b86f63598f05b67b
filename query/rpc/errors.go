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
	"github.com/rondo-db/rondo/query"
)

// codes says which code tells a client what it may do about an error. The first that fits counts:
// an error that says that a name cannot be, and therefore that there is no such series, is the
// caller's.
var codes = []struct {
	err  error
	code connect.Code
}{
	{core.ErrDamaged, connect.CodeDataLoss},
	{core.ErrInvalid, connect.CodeInvalidArgument},
	{core.ErrShape, connect.CodeInvalidArgument},
	{core.ErrTooLarge, connect.CodeInvalidArgument},
	{core.ErrNotFound, connect.CodeNotFound},
	{query.ErrNoArchive, connect.CodeNotFound},
	{core.ErrExists, connect.CodeAlreadyExists},
	{ErrBudget, connect.CodeResourceExhausted},
	{core.ErrSeriesLimit, connect.CodeResourceExhausted},
	{core.ErrMemory, connect.CodeResourceExhausted},
	{core.ErrFull, connect.CodeResourceExhausted},
	{syscall.ENOSPC, connect.CodeResourceExhausted},
	{syscall.EDQUOT, connect.CodeResourceExhausted},
	{core.ErrReadOnly, connect.CodeFailedPrecondition},
	{core.ErrClosed, connect.CodeUnavailable},
	{core.ErrLogClosed, connect.CodeUnavailable},
	{core.ErrGone, connect.CodeUnavailable},
	{core.ErrSealed, connect.CodeUnavailable},
	{core.ErrRetry, connect.CodeUnavailable},
	{context.Canceled, connect.CodeCanceled},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
}

// fail returns err, met while doing what is said, with its code.
func fail(err error, format string, args ...any) error {
	return coded(fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err))
}

// coded returns err with its code. Use it for errors that say themselves what was being done.
func coded(err error) error {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return connect.NewError(c.code, bounded(err))
		}
	}
	return connect.NewError(connect.CodeInternal, bounded(err))
}

// invalid returns an error that says what is wrong with a request.
func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, bounded(fmt.Errorf(format, args...)))
}

// exhausted returns an error that says which limit a request goes beyond.
func exhausted(format string, args ...any) error {
	return connect.NewError(connect.CodeResourceExhausted, bounded(fmt.Errorf(format, args...)))
}

// maxError is how many bytes of an error a client is told. Errors quote what the client has sent.
const maxError = 1024

// bounded returns err with at most maxError bytes of text.
func bounded(err error) error {
	if len(err.Error()) <= maxError {
		return err
	}
	return &boundedError{err}
}

// A boundedError tells the beginning of an error and how long it is.
type boundedError struct{ err error }

func (e *boundedError) Error() string {
	text := e.err.Error()
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxError], string(utf8.RuneError)), len(text))
}

func (e *boundedError) Unwrap() error { return e.err }

// maxQuoted is how many bytes of what a client has sent an error quotes.
const maxQuoted = 200

// cut returns text, or its beginning.
func cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}
