package health

import (
	"strings"
	"testing"
	"time"
)

// TestClusterIsTold: what is wrong with the cluster is two problems at most, which last while their
// words change.
func TestClusterIsTold(t *testing.T) {
	var w Watch
	at := time.Unix(1_000_000_000, 0)
	s := State{Now: at, Started: at, ClusterErrors: []string{"one", "two", "three", "four"}, ClusterWarnings: []string{"node c has been silent for 7s"}}
	w.Observe(s)
	s.Now, s.ClusterWarnings = at.Add(10*time.Second), []string{"node c has been silent for 17s"}
	got := w.Problems(s)
	if len(got) != 2 || got[0].Severity != Error || got[1].Severity != Warning {
		t.Fatalf("%+v", got)
	}
	if got[0].Text != "The cluster is not whole: one; two; three; and 1 more." || !strings.Contains(got[1].Text, "17s") || !got[1].Since.Equal(at) {
		t.Errorf("%+v", got)
	}
}
