package rrdcached

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/sockets"
)

// TestLastWordsAreAnswered: what a client had sent when it lost its place to another, or was silent
// for too long, was never read, and so an UPDATE was lost without an answer.
func TestLastWordsAreAnswered(t *testing.T) {
	// What is written to a socket of the file system has arrived when Write returns.
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it has served
	for _, tt := range []struct {
		name   string
		idle   time.Duration
		yields bool
	}{
		{"another has its place", time.Hour, true},
		{"another has its place, and there is no limit", -1, true},
		{"it was silent for too long", time.Nanosecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := New(Options{Store: enginetest.Open(t), Idle: tt.idle, Conns: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			client, c := connected(t, s, l)
			if _, err := io.WriteString(client, "PING\nPING\n"); err != nil {
				t.Fatal(err)
			}
			if tt.yields {
				c.place.Silent(time.Now().Add(-time.Hour))
				_, other := connected(t, s, l)
				if other.place == nil || !c.place.Yields() {
					t.Fatal("the silent client keeps its place")
				}
			}
			c.serve()
			_ = c.nc.Close() // as Accept does: the client has what was written
			if got, err := io.ReadAll(client); string(got) != "0 PONG\n0 PONG\n" {
				t.Errorf("answered %q (%v)", got, err)
			}
		})
	}
}

// connected returns both ends of a connection to s, which has a place if there is one.
func connected(t *testing.T, s *Server, l net.Listener) (client net.Conn, c *conn) {
	t.Helper()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), nc.Close() }) // they have served
	if c, err = s.newConn(t.Context(), nc, Access{}); err != nil {
		t.Fatal(err)
	}
	c.place, _ = s.places.Enter(nc, c.host, c.peer, time.Now())
	return client, c
}

// A lateConn lets a deadline of reading pass before it says that it is set, as a busy machine does.
type lateConn struct{ *net.UnixConn }

func (c lateConn) SetReadDeadline(t time.Time) error {
	err := c.UnixConn.SetReadDeadline(t)
	if left := time.Until(t); left < time.Second {
		time.Sleep(left)
	}
	return err
}

// TestLastWordsOnBusyMachine: what a client had sent was lost where the machine let the deadline of
// the last read pass before it read.
func TestLastWordsOnBusyMachine(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it has served
	s, err := New(Options{Store: enginetest.Open(t), Idle: time.Nanosecond, Conns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, c := connected(t, s, l)
	c.nc = lateConn{c.nc.(*net.UnixConn)}
	if c.in, err = sockets.NewInput(c.nc); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(client, "PING\nPING\n"); err != nil {
		t.Fatal(err)
	}
	c.serve()
	_ = c.nc.Close() // the client has what was written
	if got, err := io.ReadAll(client); string(got) != "0 PONG\n0 PONG\n" {
		t.Errorf("answered %q (%v)", got, err)
	}
}

// TestBusyConnectionGetsOn: where deadlines passed as soon as they were set, a connection with an
// answer on its way set them again for ever, and never gave the answer.
func TestBusyConnectionGetsOn(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it has served
	s, err := New(Options{Store: enginetest.Open(t), Idle: time.Nanosecond, Conns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, c := connected(t, s, l)
	c.slot("0 PONG")
	c.submit()
	if err := c.nc.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it sees the deadline and gives the answer, then waits for the client
		if _, err := c.receive(); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.flight) > 0 {
		t.Fatal("the answer is still on its way")
	}
	_ = c.nc.Close() // the client has what was written
	if got, err := io.ReadAll(client); string(got) != "0 PONG\n" {
		t.Errorf("answered %q (%v)", got, err)
	}
}

// TestLastWordsHoldNoConnection: a client that had lost its place and did not read the answers to
// its last words kept its connection for WriteTime, beside the one that had its place.
func TestLastWordsHoldNoConnection(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it has served
	s, err := New(Options{Store: enginetest.Open(t), Conns: 1, WriteTime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, c := connected(t, s, l)
	if _, err := io.WriteString(client, strings.Repeat("HELP\n", smallBuffer/5)); err != nil {
		t.Fatal(err)
	}
	c.place.Silent(time.Now().Add(-time.Hour))
	if connected(t, s, l); !c.place.Yields() {
		t.Fatal("the silent client keeps its place")
	}
	ended := make(chan struct{})
	go func() {
		c.serve()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute): // WriteTime is an hour
		t.Error("it is still served")
		_ = client.Close() // so that it ends
		<-ended
	}
	if s.Stats().Stalled == 0 {
		t.Error("it is not counted as stalled")
	}
}
