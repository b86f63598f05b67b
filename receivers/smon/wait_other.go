//go:build !unix

package smon

import (
	"context"
	"errors"
	"os"
)

// canWait says that this system cannot wait for pipes and terminals.
const canWait = false

type waiter struct{}

func newWaiter(context.Context, *os.File) (*waiter, error) { return nil, errors.ErrUnsupported }
func (*waiter) close()                                     {}
func (*waiter) Read([]byte) (int, error)                   { return 0, errors.ErrUnsupported }
