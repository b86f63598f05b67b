package rrdcached_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// serveTCP is serve at a TCP port.
func serveTCP(t *testing.T, o rrdcached.Options) *served {
	t.Helper()
	s := serve(t, o, 0)
	l, err := rrdcached.Listen(rrdcached.Address{Network: "tcp", Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, rrdcached.Access{}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	s.addr = l.Addr()
	return s
}

// TestWebPageCannotWrite: a page that has a browser send requests of this protocol, as the body of
// a request of HTTP, changes nothing.
func TestWebPageCannotWrite(t *testing.T) {
	var log bytes.Buffer
	o := rrdcached.Options{Store: enginetest.Open(t), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := serveTCP(t, o)
	p := dial(t, s.addr)
	p.expect("CREATE victim"+definition+"\n", "0 RRD created OK\n")
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, s.addr.Network(), s.addr.String())
		},
	}}
	body := "\nCREATE made" + definition + "\nUPDATE victim 1000000010:1\nBATCH\nUPDATE victim 1000000020:1\n.\n"
	for _, method := range []string{"POST", "GET", "PUT", "UPDATE"} {
		req, err := http.NewRequest(method, "http://127.0.0.1:42217/", io.NopCloser(strings.NewReader(strings.Repeat(" ", 10000)+body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "http://evil.example")
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close() // it has nothing
			t.Errorf("%s is answered %s", method, resp.Status)
		}
	}
	s.stop()
	if _, err := s.store.Lookup("made"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a web page has made a series: %v", err)
	}
	ref, err := s.store.Lookup("victim")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := s.store.Last(ref); err != nil || at.Unix() != 1_000_000_000 {
		t.Errorf("a web page has updated a series: %v, %v", at.Unix(), err)
	}
	if st := s.Stats(); st.Foreign != 4 {
		t.Errorf("%d connections counted as foreign, want 4", st.Foreign)
	}
	if n := strings.Count(log.String(), "speaks HTTP or TLS"); n != 1 {
		t.Errorf("%d lines in the log, want one a minute:\n%s", n, &log)
	}
}

// TestNothingBehindALineOfHTTP: a line of HTTP ends the connection wherever it stands; what was
// asked before is answered, and what stands behind is not looked at.
func TestNothingBehindALineOfHTTP(t *testing.T) {
	const ping = "0 PONG\n"
	for _, tt := range []struct{ name, send, want string }{
		{"a request", "POST / HTTP/1.1\nPING\n", ""},
		{"a request later", "PING\nPOST / HTTP/1.1\r\nPING\n", ping},
		{"a header alone", "PING\nHost: 127.0.0.1\r\nPING\n", ping},
		{"a header of the name of a command", "PING\nUpdate: a 1000000010:1\nPING\n", ping},
		{"in a batch", "BATCH\nContent-Type:text/plain\nCREATE a" + definition + "\n.\nPING\n", "0 Go ahead.  End with dot '.' on its own line.\n"},
		{"TLS", "\x16\x03\x01\x00\x05\x01\nPING\n", ""},
		{"no line yet", "POST /", ""},
		{"an unknown command is none", "FOO\nPING\nFOO bar\n", "-1 Unknown command: FOO\n" + ping + "-1 Unknown command: FOO\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, rrdcached.Options{}, 0)
			p := dial(t, s.addr)
			p.send(tt.send)
			if strings.Contains(tt.want, "FOO") {
				p.send("QUIT\n")
			}
			got, err := io.ReadAll(p.r)
			if string(got) != tt.want {
				t.Errorf("answered %q (%v), want %q", got, err, tt.want)
			}
			if _, err := s.store.Lookup("a"); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("the series: %v", err)
			}
		})
	}
}

// TestSlowHTTP: the pieces in which the first bytes arrive do not matter.
func TestSlowHTTP(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	for _, b := range []byte("POST ") {
		p.send(string(b))
		time.Sleep(time.Millisecond) // so that it may be read by itself; the outcome is the same if it is not
	}
	if got := p.line(); got != "" {
		t.Errorf("answered %q", got)
	}
}
