package servertest

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/receivers"
)

// TestEndWaitsForNoReload: a reload reads a file of a file system that hangs, and the server ends
// nevertheless. It waited as long as the file system.
func TestEndWaitsForNoReload(t *testing.T) {
	t.Parallel()
	hang, hangs := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	check := func(receivers.Config) error {
		if first.CompareAndSwap(false, true) {
			return nil // at the start
		}
		close(hangs)
		<-hang
		return nil
	}
	reload := make(chan server.Ways)
	r := start(t, server.Config{HTTP: anyPorts, Ways: fakeWays(check), Reload: reload})
	w := fakeWays(check)
	w.Receivers[0].Options = map[string][]string{"changed": {"yes"}} // it is opened anew
	reload <- w
	<-hangs
	if code, _ := get(t, r.url("/metrics")); code != 200 {
		t.Errorf("while a reload hangs: %d", code)
	}
	if err := r.stop(); err != nil {
		t.Errorf("the end: %v", err)
	}
	if !strings.Contains(r.log.String(), "does not wait for files that are being read again") {
		t.Errorf("the log does not say so:\n%s", r.log)
	}
	close(hang)
	eventually(t, "the late reload ends", func() bool { return strings.Contains(r.log.String(), "configuration read again") })
}
