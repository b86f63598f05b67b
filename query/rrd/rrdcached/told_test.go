package rrdcached

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestStoppingServer: a client whose update a stopping server had ended got "context canceled".
func TestStoppingServer(t *testing.T) {
	c := new(conn)
	stopped := fmt.Errorf("partition 3: %w", context.Canceled)
	for what, got := range map[string]string{
		"an update": why(core.Rejection{Err: stopped}, nil),
		"a command": c.unopened(&command{}, "a.rrd", stopped),
	} {
		if want := core.ErrUnavailable.Error() + ": the server stops"; got != want && got != "RRD Error: "+want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if got := explain(errors.New("no room")); got != "no room" {
		t.Errorf("another error: %q", got)
	}
}
