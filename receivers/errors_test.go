package receivers_test

import (
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// Samples of series out of reach were counted as a failure of the store.
func TestReasonOfSeriesOutOfReach(t *testing.T) {
	err := fmt.Errorf("partition 3 has no leader: %w", core.ErrUnavailable)
	if got := receivers.FailureReason(err); got != receivers.Overload {
		t.Errorf("it is counted as %v, want %v", got, receivers.Overload)
	}
}
