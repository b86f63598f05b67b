package clustered

import (
	"testing"
	"time"
)

func TestLinger(t *testing.T) {
	for n, want := range map[int]time.Duration{1: 5, 2: 5, 4: 10, 8: 20, 16: 20, 4096: 20} {
		if got := lingerOf(n); got != want*time.Millisecond {
			t.Errorf("%d partitions: %v, want %d ms", n, got, want)
		}
	}
}
