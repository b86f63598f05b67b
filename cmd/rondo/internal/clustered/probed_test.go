package clustered

import (
	"context"
	"log"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// logged is a log that passes its lines on.
type logged chan string

func (l logged) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Nodes look whether the process of another one has ended: they connect, and say nothing. Where
// nodes know each other by certificates each look left a line on standard error, in the form of
// net/http.
func TestProbesAreNoNews(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	lines, stray := make(logged, 10), make(logged, 10)
	was := log.Writer()
	log.SetOutput(stray)
	defer log.SetOutput(was)
	m := &Member{o: Options{PeerTLS: web.TLS, Logger: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))}}
	var err error
	if m.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := m.servePeers(func(error) {}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.http.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", m.listen.Addr().String())
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-lines:
		if !strings.Contains(line, "level=DEBUG") || !strings.Contains(line, "TLS handshake error") {
			t.Error(line)
		}
	case line := <-stray:
		t.Errorf("on standard error: %s", line)
	case <-ctx.Done():
		t.Error("nothing is logged")
	}
}
