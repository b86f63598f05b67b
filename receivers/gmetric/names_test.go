package gmetric

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

var loopback = address("127.0.0.1")

// TestResolve: addresses that stand for hosts get names; until one is found datagrams wait, with
// the time of their arrival.
func TestResolve(t *testing.T) {
	release := make(chan struct{})
	var asked atomic.Int64
	r := runOf(t, new(receivertest.Recorder), map[string][]string{flagResolve.Name: {"true"}}, began, func(s *server) {
		s.names.lookup = func(ctx context.Context, addr string) ([]string, error) {
			asked.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return []string{"Name." + addr + ".example.", "other."}, nil
		}
	})
	r.raw(message(t, 1))
	r.clock.Add(1)
	r.raw(message(t, 2))
	r.send(meta("named", "m", "int32", Both), value("named", "m", "5")) // does not wait
	r.UntilSamples(1)
	close(release)
	got := r.UntilSamples(3)
	for i, s := range got[1:] {
		want := receivertest.Sample{Path: "ganglia/Name.127.0.0.1.example/suite", At: rra.Seconds(began + int64(i)), Values: []rra.Value{rra.Float(float64(i + 1))}}
		if s.Path != want.Path || s.At != want.At || s.Values[0] != want.Values[0] {
			t.Errorf("sample %v, want %v", s, want)
		}
	}
	r.clock.Add(1)
	r.raw(message(t, 3))
	r.UntilSamples(4)
	if n := asked.Load(); n != 1 {
		t.Errorf("%d look-ups, want 1", n)
	}
	// In an hour it is looked up again, and the old name is used until there is a new one.
	r.clock.Add(3601)
	r.raw(message(t, 4))
	r.UntilSamples(5)
	until(t, "it is looked up again", func() bool { return asked.Load() == 2 })
}

// TestResolveNothing: an address without a name stands for itself.
func TestResolveNothing(t *testing.T) {
	r := runOf(t, new(receivertest.Recorder), map[string][]string{flagResolve.Name: {"true"}}, began, func(s *server) {
		s.names.lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
	})
	r.raw(message(t, 1))
	if got := r.UntilSamples(1)[0].Path; got != "ganglia/127.0.0.1/suite" {
		t.Errorf("series %s", got)
	}
}

// TestResolveMost: what waits for names is bounded, and counted when it is shed or left at the end.
func TestResolveMost(t *testing.T) {
	const more = 7
	r := runOf(t, new(receivertest.Recorder), map[string][]string{flagResolve.Name: {"true"}}, began, func(s *server) {
		s.names.lookup = func(ctx context.Context, _ string) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	sent := uint64(0)
	for i := range waitingMost + more {
		r.Send(message(t, i))
		if sent++; sent%100 == 0 {
			until(t, "what was sent is read", func() bool { return r.Stats().Packets == sent })
		}
	}
	until(t, "the rest is shed", func() bool { return r.Stats().Dropped[receivers.Overload] >= more || len(r.Recorder.Samples()) > 0 })
	r.Stop()
	st := r.Stats()
	if got := st.Dropped[receivers.Overload] + st.Dropped[receivers.State] + st.Samples; got != sent {
		t.Errorf("%d sent, %d of them stored or counted: %+v", sent, got, st)
	}
}

// TestForget: where there are too many addresses, those whose names are old make room.
func TestForget(t *testing.T) {
	s := offline(new(receivertest.Recorder), receivers.Config{Options: map[string][]string{flagResolve.Name: {"true"}}})
	defer s.close()
	s.begin()
	n := s.names
	for i := range maxNames {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		n.known[addr] = &named{name: []byte("x"), until: s.now.Add(1)}
	}
	ask := func(last byte) {
		n.find(netip.AddrFrom4([4]byte{192, 0, 2, last}), []byte("packet"), s.now, s.at)
	}
	ask(1)
	if st := s.Stats(); st.Dropped[receivers.Limit] != 1 || len(n.known) != maxNames {
		t.Errorf("%d names, %+v; want the address refused", len(n.known), st)
	}
	for addr := range n.known {
		n.known[addr].until = s.now.Add(-1)
	}
	s.now = s.now.Add(2e9)
	ask(2)
	if len(n.known) != 1 || len(n.held) != 1 {
		t.Errorf("%d names and %d datagrams, want 1 and 1", len(n.known), len(n.held))
	}
}
