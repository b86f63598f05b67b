package sockets

import (
	"net"
	"testing"
	"time"
)

// TestSilentClientsMakeRoom: where all places are taken, the client that has been silent for
// longest loses its own to a new one, if that was a minute at least; one that is being answered
// does not.
func TestSilentClientsMakeRoom(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	places := NewPlaces(3, 2, 0)
	enter := func(host string, silent time.Duration, want bool) *Place {
		t.Helper()
		here, there := net.Pipe()
		t.Cleanup(func() { _, _ = here.Close(), there.Close() }) // nothing was sent
		p, _ := places.Enter(here, host, host, now)
		if got := p != nil; got != want {
			t.Fatalf("%s enters: %v", host, got)
		}
		if p != nil && silent > 0 {
			p.Silent(now.Add(-silent))
		}
		return p
	}
	young := enter("a", 59*time.Second, true)
	busy := enter("a", 0, true)
	enter("a", 0, false) // its share is taken, and nobody is silent for long enough
	old := enter("b", 2*time.Minute, true)
	enter("a", 0, false)                 // another's place is of no use
	older := enter("b", time.Hour, true) // there were three: b's silent one has gone
	if !old.Yields() || young.Yields() || busy.Yields() {
		t.Error("not the silent client made room")
	}
	enter("c", 0, true)
	if !older.Yields() {
		t.Error("the silent client stays")
	}
	enter("d", 0, false)
	enter(Local, time.Hour, true) // a place of its own
	old.Leave()                   // it had gone already
	older.Leave()
	busy.Leave()
	taken := func(client string) int { return len(places.clients[client]) }
	if places.remote != 2 || places.local != 1 || taken("a") != 1 || taken("b") != 0 || taken("c") != 1 || places.Len() != 3 {
		t.Errorf("%d of the network, %d of sockets, %v", places.remote, places.local, places.clients)
	}
}

// TestPlaceIsTheNewOnes: one that has made room must not free, on its way out, the place that a new
// connection has under the same number.
func TestPlaceIsTheNewOnes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	places := NewPlaces(1, 1, 0)
	here, there := net.Pipe()
	defer func() { _, _ = here.Close(), there.Close() }() // nothing was sent
	old, _ := places.Enter(here, "a", "a", now)
	old.Silent(now.Add(-time.Minute))
	young, made := places.Enter(here, "a", "a", now)
	if young == nil || !made || young.Number != old.Number {
		t.Fatalf("the new one has the place %+v, made %v", young, made)
	}
	old.Leave()
	if n := places.Len(); n != 1 {
		t.Errorf("%d places are taken, want 1", n)
	}
	if again, _ := places.Enter(here, "a", "a", now); again != nil {
		t.Error("there are two where there is one place")
	}
}

// TestSharesOfNetworks: each address of a network of 64 bits had a share of its own, so that one
// host of IPv6 could take all places. Numbers still count by address.
func TestSharesOfNetworks(t *testing.T) {
	tcp := &TCP{o: TCPOptions{}.withDefaults(), places: NewPlaces(10, 3, 0)}
	for _, tt := range []struct{ from, peer string }{
		{"2001:db8::1", "2001:db8::1"},
		{"2001:db8::2", "2001:db8::2"},
		{"2001:db8::1", "2001:db8::1#2"},
		{"2001:db8::3", ""},
		{"2001:db8:0:1::1", "2001:db8:0:1::1"},
		{"192.0.2.1", "192.0.2.1"},
		{"192.0.2.2", "192.0.2.2"},
	} {
		here, there := net.Pipe()
		t.Cleanup(func() { _, _ = here.Close(), there.Close() }) // nothing was sent
		c := tcp.enter(t.Context(), addressed{here, &net.TCPAddr{IP: net.ParseIP(tt.from), Port: 1}})
		switch {
		case c == nil && tt.peer != "" || c != nil && c.Peer != tt.peer:
			t.Errorf("%s: got %+v, want the peer %q", tt.from, c, tt.peer)
		case c != nil && c.Host != tt.from:
			t.Errorf("the host is %s, want %s", c.Host, tt.from)
		}
	}
}

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	from net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.from }
