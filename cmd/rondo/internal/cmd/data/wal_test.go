package data

import (
	"testing"

	"github.com/rondo-db/rondo/internal/record"
)

// TestKindsOfRecords: a record with a number was an unknown one, and a kind that the engine never
// writes had a name.
func TestKindsOfRecords(t *testing.T) {
	for kind, want := range map[byte]string{record.KindRelabel: "labels", 10: "unknown (0x0a)", record.KindNumbered: "numbered"} {
		if got := kindOf([]byte{kind, 1}); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
	if got := kindOf(nil); got != "barrier" {
		t.Errorf("an empty record is %q, want a barrier of the log", got)
	}
}
