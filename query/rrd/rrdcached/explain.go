package rrdcached

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
)

// explain returns the text of an error for a client. A call that this server has ended, because it
// stops, can be made again.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return core.ErrUnavailable.Error() + ": the server stops"
	}
	return err.Error()
}
