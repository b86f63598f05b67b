package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// TestListenersFollowTheFile: the state of the server says whether rrdcached's port asks for
// credentials now. The file may have changed since the port was opened.
func TestListenersFollowTheFile(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	text := fmt.Sprintf("rondo: {tokens: [{name: x, role: admin, sha256: %q}], listeners: {rrdcached: {auth: none}}}\n", webconfig.HashToken("x"))
	web, err := webconfig.Open(a.Write(t, "web.yml", text), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Config: Config{DB: t.TempDir()}.withDefaults(), web: web}
	s.receivers = newManager(s)
	_, _, secured := s.rrdcachedListener(nil, rrdcached.Address{Network: "tcp"})
	s.daemon = &daemon{addrs: []net.Addr{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 42217}}, secured: []func() bool{secured}}
	if l := s.listeners()[0]; !l.open {
		t.Errorf("%v asks for credentials", l)
	}
	required := strings.Replace(text, "auth: none", "auth: required", 1)
	for range 2 { // at the second time the file would take it back
		a.Write(t, "web.yml", required)
		if err := web.Refresh(); (err != nil) != (required == text) {
			t.Errorf("%s: %v", required, err)
		}
		if l := s.listeners()[0]; l.open {
			t.Errorf("%v is open to everybody", l)
		}
		required = text
	}
}

// TestCommandsByAddressOfHTTP: a command, alone or in a session, may do no more than the address
// allows that it comes by.
func TestCommandsByAddressOfHTTP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(file, []byte("rondo:\n  listeners:\n    'localhost:0': {role: write, prefixes: [mine]}\n    '127.0.0.2:0': {role: read}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	c := Config{
		DB: t.TempDir(), HTTP: []Address{{Addr: "127.0.0.1:0"}, {Addr: "localhost:0"}, {Addr: "127.0.0.2:0"}}, WebConfig: file,
		Ready: func(a Addresses) { ready <- a },
	}
	go func() { ended <- Run(ctx, c) }()
	var r Addresses
	select {
	case r = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	for i, tt := range []struct {
		at            int
		command, want string
	}{
		{0, "create others/x" + madeOf, ""},
		{0, "create mine/x" + madeOf, ""},
		{1, "update mine/x 1000000010:1", ""},
		{1, "update others/x 1000000010:1", "permission denied"},
		{1, "create others/y" + madeOf, "permission denied"},
		{1, "tune mine/x -h v:5", "permission denied"},
		{2, "last mine/x", "1000000010"},
		{2, "update mine/x 1000000020:1", "permission denied"},
		{2, "create mine/y" + madeOf, "permission denied"},
	} {
		c, err := rpc.Dial(t.Context(), r.AllHTTP[tt.at].String())
		if err != nil {
			t.Fatal(err)
		}
		got := alone(t, c, &rondov1.ExecRequest{Argv: strings.Fields(tt.command)})
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%d: %s answers %q, want %q", i, tt.command, got, tt.want)
		}
		if tt.want == "permission denied" {
			if got := inSession(t, c, tt.command+"\n"); !strings.Contains(got, tt.want) {
				t.Errorf("%d: %s in a session answers %q", i, tt.command, got)
			}
		}
		c.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestDefaultAddressInUse: a newcomer whose port another program had opened that program's page.
func TestDefaultAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // nothing was accepted
	addr := taken.Addr()
	var log bytes.Buffer
	s := &server{Config: Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), HTTP: []Address{{Addr: addr.String()}}}}
	if all, err := s.openHTTP(); len(all) > 0 || err != nil {
		t.Fatalf("got %v, %v", all, err)
	}
	if !strings.Contains(log.String(), `instead="--http 127.0.0.1:9181"`) {
		t.Errorf("the log names no other port: %s", log.String())
	}
	s.HTTP[0].Named = true
	if all, err := s.openHTTP(); len(all) > 0 || err == nil {
		t.Errorf("a named address: %v, %v", all, err)
	}
}

// TestPageAt: what a server prints can be opened in a browser.
func TestPageAt(t *testing.T) {
	for want, a := range map[string]net.Addr{
		"http://127.0.0.1:9180/": &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9180},
		"http://localhost:80/":   &net.TCPAddr{IP: net.IPv6zero, Port: 80},
		"http://[::1]:9180/":     &net.TCPAddr{IP: net.IPv6loopback, Port: 9180},
		"":                       &net.UnixAddr{Name: "/run/http", Net: "unix"},
	} {
		if got := pageAt(a, false); got != want {
			t.Errorf("%v: %q, want %q", a, got, want)
		}
	}
	if got := pageAt(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, true); got != "https://192.0.2.1:443/" {
		t.Errorf("got %q", got)
	}
}

// TestSocketsOfAnother: sockets of another process are not taken, and a wrong number of own ones is
// an error.
func TestSocketsOfAnother(t *testing.T) {
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()+1))
	t.Setenv("LISTEN_FDS", "2")
	if got, err := activated(); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v; the sockets are another process's", got, err)
	}
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("LISTEN_FDS", "-1")
	if _, err := activated(); err == nil {
		t.Error("a negative LISTEN_FDS was accepted")
	}
}
