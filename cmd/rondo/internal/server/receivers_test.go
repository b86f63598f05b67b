package server

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers/remotewrite"
)

// TestReceiversKnowOfTheWindow: receivers hand late samples over only if the store puts them in
// order.
func TestReceiversKnowOfTheWindow(t *testing.T) {
	for _, window := range []time.Duration{0, time.Second} {
		s := &server{Config: Config{DB: t.TempDir()}.withDefaults()}
		s.Engine.Reorder = window
		if held := s.settings(Receiver{Protocol: remotewrite.Protocol}).Held; held != (window > 0) {
			t.Errorf("with a window of %v: %v", window, held)
		}
	}
}
