package backend

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc"
)

// Explain returns the error of a server's answer in words for the user of the command line.
func Explain(err error) error {
	if errors.Is(err, rpc.ErrEnded) {
		return rpc.ErrEnded
	}
	if e, ok := errors.AsType[*connect.Error](err); ok && e.Code() == connect.CodeUnimplemented && !errors.As(err, new(*rpc.UnreachedError)) {
		return fmt.Errorf("the server is older than this rondo: it %s", e.Message())
	}
	return err
}
