package rrdcached

import (
	"context"
	"errors"
	"testing"
)

// TestTurns: who has to wait for too long is told so, and leaves no place taken.
func TestTurns(t *testing.T) {
	ts := newTurns()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	take := func(ctx context.Context, large bool) func() {
		t.Helper()
		end, err := ts.wait(ctx, large)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	ends := []func(){take(t.Context(), true)}
	if _, err := ts.wait(over, true); !errors.Is(err, errTurns) {
		t.Errorf("a second large one: %v", err)
	}
	for range turnsAtOnce - 1 {
		ends = append(ends, take(t.Context(), false))
	}
	if _, err := ts.wait(over, false); !errors.Is(err, errTurns) {
		t.Errorf("one too many: %v", err)
	}
	ends[0]()
	take(t.Context(), false)()
	ends[1]()
	take(t.Context(), true)()
	if len(ts.all) != turnsAtOnce-2 || len(ts.large) != 0 {
		t.Errorf("%d and %d places are taken", len(ts.all), len(ts.large))
	}
}
