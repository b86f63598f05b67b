package statsd

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// eager returns the protocol over one network, with a flush after each line: so each message of the
// suite is one sample.
func eager(network string) receivers.Protocol {
	p := Protocol
	p.Network = network
	p.New = func(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
		r, err := newServer(cfg, sink)
		if err != nil {
			return nil, err
		}
		s := r.(*server)
		var mu sync.Mutex // connections take turns
		s.taken = func() {
			mu.Lock()
			defer mu.Unlock()
			s.flushActive(context.Background())
		}
		return s, nil
	}
	return p
}

// flushActive stores what has just arrived, at the time of the clock.
func (s *server) flushActive(ctx context.Context) { s.flush(ctx, s.cfg.Now().Unix(), true) }

func suite(network string) receivertest.Case {
	return receivertest.Case{
		Protocol: eager(network),
		Options:  map[string][]string{"statsd-step": {"1h"}}, // no flush by the clock, which stands still
		Message:  func(n int) []byte { return fmt.Appendf(nil, "a.b:%d|g\n", n) },
		Arrival:  true,
		Named:    true,
		Garbage: [][]byte{
			[]byte("x\n"), []byte("x:1\n"), []byte("x:1|q\n"), []byte("x:one|c\n"), []byte("x:nan|g\n"), []byte("x:1|c|@0\n"),
			[]byte("x:1|c|@2\n"), []byte(":1|c\n"), []byte(".:1|c\n"), []byte("x:|s\n"), []byte("x:1|c|y\n"), []byte("_e{1,1}:a|b\n"),
			[]byte("_sc|a|0\n"), []byte("x:1|g|T1700000000\n"), []byte("x:1|c|#:\n|#__name__:y\n"), bytes.Repeat([]byte("9"), 60_000),
			append(bytes.Repeat([]byte("a."), 2000), ":1|c\n"...),
		},
	}
}

// TestSuiteUDP, TestSuiteTCP: it does what every receiver must do.
func TestSuiteUDP(t *testing.T) { receivertest.Run(t, suite("udp")) }

func TestSuiteTCP(t *testing.T) {
	c := suite("tcp")
	c.Limits = receivertest.ConnLimits{Conns: "statsd-connections", HostConns: "statsd-host-connections", Idle: "statsd-idle"}
	c.Greedy = [][]byte{[]byte("a"), bytes.Repeat([]byte("a"), MaxLine)}
	receivertest.Run(t, c)
}
