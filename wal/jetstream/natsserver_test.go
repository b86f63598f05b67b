package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/natstest"
)

// leader returns the number of the server that leads a stream.
func leader(t *testing.T, c *natstest.Cluster, name string) int {
	t.Helper()
	js := natstest.JetStream(t, c.URLs())
	defer js.Conn().Close()
	for {
		if st, err := js.Stream(t.Context(), name); err == nil {
			for i := range c.Nodes {
				if st.CachedInfo().Cluster.Leader == fmt.Sprintf("n%d", i+1) {
					return i
				}
			}
		}
		if t.Context().Err() != nil {
			t.Fatal("the stream has no leader")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
