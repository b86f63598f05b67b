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
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		return fmt.Errorf("the server serves the command line on its socket only (unix:…/rondo.sock): %w", err)
	}
	return err
}
