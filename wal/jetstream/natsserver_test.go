package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/natstest"
	log "github.com/rondo-db/rondo/wal/jetstream"
	"github.com/rondo-db/rondo/wal/stream"
)

// options are where a log is, and how it writes.
type options struct {
	log.Options
	Stream string
	Log    stream.Options
}

// connect returns a connection that ends with the test.
func connect(t testing.TB, o options) (*log.Conn, error) {
	c, err := log.Connect(o.Options)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

func openLog(t testing.TB, o options) (*stream.Log, error) {
	c, err := connect(t, o)
	if err != nil {
		return nil, err
	}
	return c.Open(t.Context(), o.Stream, o.Log)
}

func openReader(t testing.TB, o options, how stream.ReaderOptions) (*stream.Reader, error) {
	c, err := connect(t, o)
	if err != nil {
		return nil, err
	}
	return c.OpenReader(t.Context(), o.Stream, how)
}

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
