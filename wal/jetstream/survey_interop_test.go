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

// A surveyed asks three real servers how they are, with and without their monitoring ports.
type surveyed struct {
	*testing.T
	servers *natstest.Cluster
	nc      *nats.Conn
	stream  string
	named   *log.Survey // knows the names of servers by their ports
}

func newSurveyed(t *testing.T, c *natstest.Cluster, stream string) *surveyed {
	nc, err := nats.Connect(c.URLs(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &surveyed{T: t, servers: c, nc: nc, stream: stream}
}

func (s *surveyed) survey(monitors ...string) *log.Survey {
	s.Helper()
	all, err := log.NewSurvey(s.nc, monitors, len(monitors) == 0)
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// until asks until a server has a problem with these words, and the others have none.
func (s *surveyed) until(what string, all *log.Survey, server int, words string) {
	s.Helper()
	name := fmt.Sprintf("n%d", server+1)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		got := all.Ask(s.Context(), []string{s.stream})
		good := len(got.Servers) == 3 && got.Streams[0].Err == nil && len(got.Streams[0].Replicas) == 3
		for _, x := range got.Servers {
			good = good && (x.Name == name && words != "" && strings.HasPrefix(x.Problem, words) || (x.Name != name || words == "") && x.Problem == "")
		}
		if good {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s: %+v", what, got)
		}
	}
}

// whole waits until all servers are there.
func (s *surveyed) whole() {
	s.Helper()
	s.named = s.survey(s.servers.Monitors()...)
	s.until("all there", s.named, 0, "")
	s.until("all there, without monitoring ports", s.survey(), 0, "")
	if got := s.survey().Ask(s.Context(), []string{"other"}); got.Streams[0].Err == nil || !strings.Contains(got.Streams[0].Err.Error(), "the servers have no such log") {
		s.Errorf("a stream that does not exist: %+v", got)
	}
}

// without looks at the servers while the one that led is away, and then there without JetStream.
func (s *surveyed) without(i int) {
	s.Helper()
	s.until("the leader is killed", s.named, i, "does not answer at "+s.servers.Nodes[i].Monitor+": ")
	s.until("the leader is killed, without monitoring ports", s.survey(), i, "is silent")

	conf, err := os.ReadFile(filepath.Join(s.servers.Nodes[i].Dir, "nats.conf"))
	if err != nil {
		s.Fatal(err)
	}
	_, routes, _ := strings.Cut(string(conf), "\ncluster ")
	server := natstest.Start(s, s.TempDir(), fmt.Sprintf("n%d", i+1), "127.0.0.1:-1", "cluster "+routes)
	if server == nil {
		s.Fatal("the server does not start without JetStream")
	}
	monitors := s.servers.Monitors()
	monitors[i] = server.Monitor
	s.until("it has no JetStream", s.survey(monitors...), i, "has JetStream disabled")
	server.Kill()
}
