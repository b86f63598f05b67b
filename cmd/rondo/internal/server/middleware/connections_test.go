package middleware

import (
	"testing"
	"time"
)

func TestIdlest(t *testing.T) {
	conns := map[string]*conn{
		"working":      {requests: 1, admitted: 1, used: 1},
		"waiting":      {requests: 3, used: 2},
		"waiting, new": {requests: 1, used: 5},
		"idle":         {used: 3},
		"idle, new":    {used: 4},
	}
	of := make(map[*conn]struct{})
	for _, c := range conns {
		of[c] = struct{}{}
	}
	for _, want := range []string{"idle", "idle, new", "waiting", "waiting, new"} {
		got := idlest(of)
		if got != conns[want] {
			t.Fatalf("got %+v, want %q", got, want)
		}
		delete(of, got)
	}
	if got := idlest(of); got != nil {
		t.Errorf("a connection that is worked for would be closed: %+v", got)
	}
}

// TestConnectionsOfManyClients: when all connections are taken, the client with most loses one.
func TestConnectionsOfManyClients(t *testing.T) {
	l := LimitConnections(nil, Share{4, 3})
	add := func(client string) (*conn, *conn, bool) {
		c := &conn{owner: l, client: client}
		victim, ok := l.add(c)
		return c, victim, ok
	}
	first, _, _ := add("a")
	for _, client := range []string{"a", "a", "b"} {
		if _, victim, ok := add(client); victim != nil || !ok {
			t.Fatalf("%s: no room", client)
		}
	}
	if _, victim, ok := add("c"); victim != first || !ok {
		t.Errorf("a third client: %v, closed for it: %+v", ok, victim)
	}
	if l.Open() != 4 {
		t.Errorf("%d connections", l.Open())
	}
	for of := range l.clients {
		for c := range l.clients[of] {
			c.admitted = 1
		}
	}
	if _, victim, ok := add("d"); victim != nil || ok {
		t.Error("a connection that is worked for was closed")
	}
}

func TestPace(t *testing.T) {
	p := Pace{Grace: 10 * time.Second, Rate: 1 << 10}
	start := time.Unix(1000, 0)
	if got := p.deadline(start, 5<<10).Sub(start); got != 15*time.Second {
		t.Errorf("got %v", got)
	}
}
