package sockets

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestLastWordsAreRead: what a peer had sent when it lost its place, or was silent for too long,
// was never read.
func TestLastWordsAreRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it has served
	accepted := func() (client, server net.Conn) {
		t.Helper()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err = l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = client.Close(), server.Close() }) // they have served
		return client, server
	}
	for _, tt := range []struct {
		idle  time.Duration
		yield bool
		want  error
	}{
		{-1, true, ErrYielded},
		{time.Hour, true, ErrYielded},
		{time.Nanosecond, false, ErrIdle},
	} {
		tcp := &TCP{o: TCPOptions{Idle: tt.idle}.withDefaults(), places: NewPlaces(1, 1, 0)}
		peer, nc := accepted()
		c := tcp.enter(t.Context(), nc)
		if _, err := peer.Write([]byte("sample\n")); err != nil {
			t.Fatal(err)
		}
		if tt.yield {
			_, other := accepted()
			c.place.Silent(time.Now().Add(-time.Hour))
			if tcp.enter(t.Context(), other) == nil || !c.place.Yields() {
				t.Fatal("the silent peer keeps its place")
			}
		}
		if got, err := io.ReadAll(c); string(got) != "sample\n" || !errors.Is(err, tt.want) {
			t.Errorf("idle %v: read %q, %v, want all and %v", tt.idle, got, err, tt.want)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, tt.want) {
			t.Errorf("idle %v: a further read returns %d, %v", tt.idle, n, err)
		}
	}
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

// TestLastWordsOnBusyMachine: what a peer had sent was lost where the machine let the deadlines of
// the last reads pass before it read.
func TestLastWordsOnBusyMachine(t *testing.T) {
	// What is written to a socket of the file system has arrived when Write returns.
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it has served
	peer, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = peer.Close(), nc.Close() }) // they have served
	tcp := &TCP{o: TCPOptions{Idle: time.Nanosecond}.withDefaults(), places: NewPlaces(1, 1, 0)}
	c := tcp.enter(t.Context(), lateConn{nc.(*net.UnixConn)})
	if _, err := io.WriteString(peer, "sample\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); string(got) != "sample\n" || !errors.Is(err, ErrIdle) {
		t.Errorf("read %q, %v, want all and %v", got, err, ErrIdle)
	}
}
