package rpc

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
)

// codes says which code tells a client what it may do about an error. The first that fits counts.
var codes = []struct {
	err  error
	code connect.Code
}{
	{core.ErrNotFound, connect.CodeNotFound},
	{query.ErrNoArchive, connect.CodeNotFound},
	{core.ErrExists, connect.CodeAlreadyExists},
	{core.ErrSeriesLimit, connect.CodeResourceExhausted},
	{core.ErrShape, connect.CodeInvalidArgument},
	{core.ErrReadOnly, connect.CodeFailedPrecondition},
	{core.ErrClosed, connect.CodeUnavailable},
	{syscall.ENOSPC, connect.CodeResourceExhausted},
	{context.Canceled, connect.CodeCanceled},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
}

// fail returns err, met while doing what is said, with its code.
func fail(err error, format string, args ...any) error {
	err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return connect.NewError(c.code, err)
		}
	}
	return connect.NewError(connect.CodeInternal, err)
}

// invalid returns an error that says what is wrong with a request.
func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}
