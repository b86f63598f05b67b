package rrdcached

import (
	"net"
	"testing"
	"time"
)

// TestSilentClientsMakeRoom: where all places are taken, the client that has been silent for longest loses its own to a new one, if that was a
// minute at least; one that is being answered does not.
func TestSilentClientsMakeRoom(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	cs := connections{most: 3, hostMost: 2, byHost: make(map[string]int), open: make(map[*conn]struct{})}
	client := func(peer string, silent time.Duration) *conn {
		c := &conn{host: peer}
		here, there := net.Pipe()
		t.Cleanup(func() { _, _ = here.Close(), there.Close() }) // nothing was sent
		if c.nc = here; silent > 0 {
			c.silent.Store(now.Add(-silent).UnixNano())
		}
		return c
	}
	enter := func(c *conn, want bool) *conn {
		t.Helper()
		if got := cs.enter(c, now); got != want {
			t.Errorf("%s enters: %v", c.host, got)
		}
		return c
	}
	young := enter(client("a", 59*time.Second), true)
	busy := enter(client("a", 0), true)
	enter(client("a", 0), false) // its share is taken, and nobody is silent for long enough
	old := enter(client("b", 2*time.Minute), true)
	enter(client("a", 0), false) // another's place is of no use
	older := client("b", time.Hour)
	enter(older, true) // there were three: b's silent one has gone
	if !old.yields.Load() || young.yields.Load() || busy.yields.Load() {
		t.Error("not the silent client made room")
	}
	enter(client("c", 0), true)
	if !older.yields.Load() {
		t.Error("the silent client stays")
	}
	enter(client("d", 0), false)
	enter(client(unixPeer, time.Hour), true) // a place of its own
	cs.leave(old)                            // it had gone already
	cs.leave(older)
	cs.leave(busy)
	if cs.tcp != 2 || cs.unix != 1 || cs.byHost["a"] != 1 || cs.byHost["b"] != 0 || cs.byHost["c"] != 1 || cs.count() != 3 {
		t.Errorf("%d over TCP, %d of sockets, %v", cs.tcp, cs.unix, cs.byHost)
	}
}
