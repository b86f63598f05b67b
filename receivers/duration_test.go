package receivers_test

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "0": 0, "-1": -time.Second, "500ms": 500 * time.Millisecond, "1m30s": 90 * time.Second,
		"2d": 48 * time.Hour, "1w": 168 * time.Hour, "1M": 744 * time.Hour, "1y": 8784 * time.Hour, "-3d": -72 * time.Hour,
	} {
		if got, err := receivers.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1x", "1.5d", "9223372036854775807", "300y", "-300y", "10 s"} {
		if got, err := receivers.ParseDuration(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	for text, want := range map[string]int64{"1": 1, "10s": 10, "5m": 300, "366d": 366 * 86400} {
		if got, err := receivers.ParseStep(text); err != nil || got != want {
			t.Errorf("step %q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "500ms", "1500ms", "367d", "often"} {
		if got, err := receivers.ParseStep(text); err == nil {
			t.Errorf("step %q: got %v, want an error", text, got)
		}
	}
}
