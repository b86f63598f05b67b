package receivers_test

import (
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// TestByStepSharesDefinitions: new series of one step have one definition, which is made once.
func TestByStepSharesDefinitions(t *testing.T) {
	made := 0
	define := receivers.ByStep(func(step int64) *rra.Definition {
		made++
		return receivers.StandardDefinition(step)
	})
	first, again, other := define(10), define(10), define(20)
	if first != again || made != 2 || first.Step != 10 || other.Step != 20 || define(10).Step != 10 {
		t.Errorf("%d definitions of steps %d, %d, %d; want 2, the first one shared", made, first.Step, again.Step, other.Step)
	}
}
