package middleware

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strings"
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
	l := LimitConnections(Share{4, 3})
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

// TestPanicsAreLogged: a request that makes a handler panic is logged with its path, and the server
// goes on. A handler that only ends the connection is not.
func TestPanicsAreLogged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer // written before the answer ends
	h := http.NewServeMux()
	h.HandleFunc("/broken", func(http.ResponseWriter, *http.Request) { panic("no such chart") })
	h.HandleFunc("/ended", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	h.HandleFunc("/sound", func(http.ResponseWriter, *http.Request) {})
	s := Serve([]net.Listener{l}, &http.Server{Handler: h}, slog.New(slog.NewTextHandler(&out, nil)), func(error) {})
	for path, fails := range map[string]bool{"/broken": true, "/ended": true, "/sound": false} {
		r, err := http.Get("http://" + l.Addr().String() + path)
		if (err != nil) != fails {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			_ = r.Body.Close()
		}
	}
	if err := s.Shutdown(time.Minute, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	for text, n := range map[string]int{"path=/broken": 1, "no such chart": 1, "connections_test.go": 1, "/ended": 0, "level=ERROR": 1} {
		if got := strings.Count(out.String(), text); min(got, 1) != n {
			t.Errorf("%q is logged %d times:\n%s", text, got, out.String())
		}
	}
}
