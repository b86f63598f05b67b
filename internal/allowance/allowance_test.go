package allowance

import (
	"strconv"
	"testing"
	"time"
)

// TestSendersAreBounded: senders beyond the bound share one allowance, and asking whether a sender
// has one left keeps nothing of it.
func TestSendersAreBounded(t *testing.T) {
	a, now := Allowances{Burst: 2, Rate: 1}, time.Unix(1_000_000_000, 0)
	for i := range maxSenders + 10 {
		if sender := strconv.Itoa(i); !a.Has(sender, now) && i <= maxSenders {
			t.Fatalf("sender %d has nothing from the beginning", i)
		}
		a.Spend(strconv.Itoa(i), 1, now)
	}
	if n := a.Senders(); n != maxSenders+1 {
		t.Errorf("%d senders have an allowance, want %d and one for the others", n, maxSenders)
	}
	if !a.Has("0", now) || !a.Spend("0", 1, now) || a.Has("0", now) || !a.Has("0", now.Add(time.Second)) {
		t.Error("the second one of two is not the last, or none comes in a second")
	}
	if a.Has("new", now); a.Senders() != maxSenders+1 {
		t.Error("a sender that was asked about is kept")
	}
}
