package receivertest

import (
	"context"
	"runtime/pprof"
	"testing"
)

// TestLabelled: a goroutine that a labelled one has started is seen, until it ends.
func TestLabelled(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	pprof.Do(context.Background(), pprof.Labels(labelKey, "a \"name\""), func(context.Context) {
		go func() {
			<-release
			close(ended)
		}()
	})
	if !labelled(t, "a \"name\"") {
		t.Error("a goroutine is not seen")
	}
	if labelled(t, "a") {
		t.Error("another's goroutine is seen")
	}
	close(release)
	<-ended
	eventually(t, "it is gone", func() bool { return !labelled(t, "a \"name\"") })
}
