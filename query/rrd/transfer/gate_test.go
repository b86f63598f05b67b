package transfer

import (
	"context"
	"errors"
	"testing"
	"time"
)

// queued waits until n wait at a gate.
func queued(t *testing.T, g *gate, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		waiting := g.last - g.next
		g.mu.Unlock()
		if waiting == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, not %d", waiting, n)
		}
	}
}

// TestGate: who comes later does not pass who waits, and who gives up lets the others in.
func TestGate(t *testing.T) {
	g := newGate(10)
	if !g.try(4) || !g.try(6) || g.try(1) {
		t.Fatal("10 do not have room, or 11 do")
	}
	g.leave(6)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	left, large, small := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { left <- g.enter(ctx, 8) }()
	queued(t, g, 1)
	go func() { large <- g.enter(t.Context(), 10) }()
	queued(t, g, 2)
	go func() { small <- g.enter(t.Context(), 1) }()
	queued(t, g, 3)
	if g.try(1) {
		t.Error("1 has passed those that wait")
	}
	cancel(gone)
	if err := <-left; !errors.Is(err, gone) {
		t.Error(err)
	}
	queued(t, g, 2)
	g.leave(4)
	if err := <-large; err != nil {
		t.Error(err)
	}
	select {
	case err := <-small:
		t.Errorf("11 are inside: %v", err)
	default:
	}
	g.leave(10)
	if err := <-small; err != nil {
		t.Error(err)
	}
}
