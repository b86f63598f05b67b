package jetstream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rondo-db/rondo/internal/natstest"
	log "github.com/rondo-db/rondo/wal/jetstream"
)

// TestSurveyServers asks three real servers how they are: one that leads a stream is killed, comes
// back without JetStream, and comes back as it was. It is reported with and without monitoring
// ports.
func TestSurveyServers(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	o := log.Options{URL: c.URLs(), Stream: "one", MaxBytes: 1 << 20, Monitor: c.Monitors()}
	l := openAmong(t, o)
	if _, err := l.Enqueue([]byte("record")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(c.URLs(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	survey := func(monitors ...string) *log.Survey {
		s, err := log.NewSurvey(nc, monitors, len(monitors) == 0)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// until asks until a server has a problem with these words, and the others have none.
	until := func(what string, s *log.Survey, server int, words string) {
		t.Helper()
		name := fmt.Sprintf("n%d", server+1)
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
			got := s.Ask(t.Context(), []string{"one"})
			good := len(got.Servers) == 3 && got.Streams[0].Err == nil && len(got.Streams[0].Replicas) == 3
			for _, x := range got.Servers {
				good = good && (x.Name == name && words != "" && strings.HasPrefix(x.Problem, words) || (x.Name != name || words == "") && x.Problem == "")
			}
			if good {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v", what, got)
			}
		}
	}
	until("all there", survey(c.Monitors()...), 0, "")
	until("all there, without monitoring ports", survey(), 0, "")

	i := leader(t, c, "one")
	all := survey(c.Monitors()...)
	c.Nodes[i].Kill()
	until("the leader is killed", all, i, "does not answer at "+c.Nodes[i].Monitor+": ")
	until("the leader is killed, without monitoring ports", survey(), i, "is silent")

	conf, err := os.ReadFile(filepath.Join(c.Nodes[i].Dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	_, routes, _ := strings.Cut(string(conf), "\ncluster ")
	without := natstest.Start(t, t.TempDir(), fmt.Sprintf("n%d", i+1), "127.0.0.1:-1", "cluster "+routes)
	if without == nil {
		t.Fatal("the server does not start without JetStream")
	}
	monitors := c.Monitors()
	monitors[i] = without.Monitor
	until("it has no JetStream", survey(monitors...), i, "has JetStream disabled")
	without.Kill()

	if c.Nodes[i] = c.Again[i](); c.Nodes[i] == nil {
		t.Fatal("a killed server does not start again")
	}
	until("it is back", survey(c.Monitors()...), 0, "")
	until("it is back, without monitoring ports", survey(), 0, "")

	if got := survey().Ask(t.Context(), []string{"other"}); got.Streams[0].Err == nil || !strings.Contains(got.Streams[0].Err.Error(), "the servers have no such log") {
		t.Errorf("a stream that does not exist: %+v", got)
	}
}
