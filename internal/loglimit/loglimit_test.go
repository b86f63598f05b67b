package loglimit_test

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
)

func TestLimit(t *testing.T) {
	var l loglimit.Limit[int]
	at := time.Unix(1000, 0)
	allow := func(source int, now time.Time, wantOK bool, wantHeld uint64) {
		t.Helper()
		if ok, held := l.Allow(source, now); ok != wantOK || held != wantHeld {
			t.Errorf("source %d at %v: %t, %d, want %t, %d", source, now.Unix(), ok, held, wantOK, wantHeld)
		}
	}
	allow(1, at, true, 0)
	allow(1, at.Add(59*time.Second), false, 0)
	allow(2, at.Add(59*time.Second), true, 0)
	allow(1, at.Add(59*time.Second), false, 0)
	allow(1, at.Add(60*time.Second), true, 2)
	for i := range 10_000 {
		allow(100+i, at.Add(61*time.Second), i < 4094, 0)
	}
	allow(1, at.Add(62*time.Second), false, 0)
	allow(99, at.Add(121*time.Second), true, 0) // room again
}

// TestLimitOfOne: a log of one source has one line a minute, whoever is to blame.
func TestLimitOfOne(t *testing.T) {
	var l loglimit.Limit[struct{}]
	now := time.Unix(1000, 0)
	for i, want := range []bool{true, false, false} {
		if ok, _ := l.Allow(struct{}{}, now.Add(time.Duration(i)*time.Second)); ok != want {
			t.Errorf("line %d: %v", i, ok)
		}
	}
	if ok, held := l.Allow(struct{}{}, now.Add(time.Minute)); !ok || held != 2 {
		t.Errorf("after a minute: %v, %d held back", ok, held)
	}
}
