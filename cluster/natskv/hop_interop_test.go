package natskv_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestServerHangs: a node whose server hangs was out of the cluster for minutes, until the client
// noticed that its pings are not answered.
func TestServerHangs(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	first := connect(t, natskv.Options{URL: c.URLs(), Bucket: "b"}) // all servers are ready
	stream, err := first.Conn().JetStream()
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.StreamInfo(natskv.Stream("b"))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for fmt.Sprintf("n%d", i+1) == info.Cluster.Leader {
		i++
	}
	s := connect(t, natskv.Options{URL: c.Nodes[i].URL + "," + c.URLs(), Bucket: "b", Connect: []nats.Option{nats.DontRandomize()}})
	c.Nodes[i].Stop(t)
	for _, what := range []string{"set", "list"} {
		deadline := time.Now().Add(90 * time.Second)
		for try := 0; ; try++ {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			var err error
			if what == "set" {
				// An attempt without an answer may have set its key.
				_, err = s.CompareAndSet(ctx, fmt.Sprint("all.key", try), []byte("value"), 0)
			} else {
				_, err = s.List(ctx, "all.")
			}
			cancel()
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
}
