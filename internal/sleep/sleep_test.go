package sleep_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
)

func TestFor(t *testing.T) {
	began := time.Now()
	if err := sleep.For(t.Context(), 10*time.Millisecond); err != nil || time.Since(began) < 10*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := sleep.For(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
}
