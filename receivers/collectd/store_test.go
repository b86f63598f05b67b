package collectd

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// A served receiver is one with a peer.
type served struct {
	receivers.Receiver
	conn net.Conn
	stop func()
}

func serveStore(t testing.TB, store *core.Store, options map[string][]string) *served {
	t.Helper()
	return serveSink(t, sink.New(store, sink.Options{}), options)
}

func serveSink(t testing.TB, sink receivers.Sink, options map[string][]string) *served {
	t.Helper()
	r, err := Protocol.New(receivers.Config{Address: "127.0.0.1:0", Options: options, MaxFuture: -1}, sink)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx) }()
	conn, err := net.Dial("udp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	s := &served{r, conn, func() {
		if stopped {
			return
		}
		stopped = true
		_ = conn.Close() // sent
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	}}
	t.Cleanup(s.stop)
	return s
}

// send sends packets and waits until they are read.
func (s *served) send(t testing.TB, packets ...[]byte) {
	t.Helper()
	for _, p := range packets {
		before := s.Stats()
		if _, err := s.conn.Write(p); err != nil {
			t.Fatal(err)
		}
		until(t, "a packet is read", func() bool {
			st := s.Stats()
			return st.Packets+st.KernelDropped > before.Packets+before.KernelDropped
		})
	}
}

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Microsecond) // a loop without a pause would keep the poller from its work
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestStoreCaptures: the captures of a real collectd, through the whole of the store, give its
// series with their last updates, whatever the protection.
func TestStoreCaptures(t *testing.T) {
	for _, level := range []string{"plain", "signed", "encrypted"} {
		t.Run(level, func(t *testing.T) {
			store := enginetest.Open(t)
			r := serveStore(t, store, map[string][]string{flagAuthFile.Name: {filepath.Join(captures, "auth")}})
			packets := receivertest.Hex(t, filepath.Join(captures, "collectd-5.12-"+level+".hex"))
			last := make(map[string]rra.Time)
			n := uint64(0)
			for _, b := range packets {
				var p Packet
				if err := (&Decoder{Users: captureUsers(t)}).Parse(&p, b); err != nil {
					t.Fatal(err)
				}
				for i := range p.Lists {
					l := &p.Lists[i]
					n++
					path := Identify(&l.Names).Path
					last[path] = max(last[path], rra.Seconds(l.Time.Seconds()))
				}
			}
			r.send(t, packets...)
			r.stop()
			st := r.Stats()
			if st.Samples != n {
				t.Errorf("%d samples, want %d", st.Samples, n)
			}
			if got := store.Stats(); got.SamplesAccepted+st.Dropped[receivers.Late] != n || got.Series != int64(len(last)) {
				t.Errorf("%d samples stored, %d late of %d; %d series, want %d", got.SamplesAccepted, st.Dropped[receivers.Late], n, got.Series, len(last))
			}
			for path, want := range last {
				ref, err := store.Lookup(path)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					continue
				}
				if got, err := store.Last(ref); err != nil || got != want {
					t.Errorf("%s: last update %v, %v, want %v", path, got.Std(), err, want.Std())
				}
			}
			notes, err := store.Notes(t.Context(), "collectd/fixed.example.org")
			count := 0
			for _, ns := range notes {
				count += len(ns)
			}
			if err != nil || count != 3 {
				t.Errorf("notes %v, %v, want 3", notes, err)
			}
		})
	}
}

// TestStoreDrop: a series that is dropped while its host goes on sending is made again.
func TestStoreDrop(t *testing.T) {
	store := enginetest.Open(t)
	r := serveStore(t, store, nil)
	const path = "collectd/suite/p/gauge"
	r.send(t, message(0), message(1))
	until(t, "two samples", func() bool { return store.Stats().SamplesAccepted == 2 })
	if err := core.Drop(t.Context(), store, path); err != nil {
		t.Fatal(err)
	}
	n := 2
	until(t, "the series is made again", func() bool {
		r.send(t, message(n))
		n++
		_, err := store.Lookup(path)
		return err == nil
	})
	if st := r.Stats(); st.Dropped[receivers.State] == 0 {
		t.Errorf("stats %+v, want the refused samples counted", st)
	}
	r.send(t, message(0))
	until(t, "a late sample is counted", func() bool { return r.Stats().Dropped[receivers.Late] == 1 })
}

// TestStoreLimit: the engine's limit holds, and what is over is counted.
func TestStoreLimit(t *testing.T) {
	store := enginetest.OpenDir(t, t.TempDir(), core.Options{MaxSeries: 5})
	r := serveStore(t, store, nil)
	for round := range 2 {
		for i := range 10 {
			r.send(t, packet(t, list("h", "p", "gauge", fmt.Sprint(i), epoch+Stamp(round)<<30, 1)))
		}
	}
	r.stop()
	if st := r.Stats(); st.Samples != 10 || st.Dropped[receivers.Limit] != 10 {
		t.Errorf("stats %+v, want 10 samples and 10 dropped for the limit", st)
	}
}
