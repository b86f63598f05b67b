package servertest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
)

// TestCommandSocketRefusesPages: what a page has a browser send is refused at the socket of the
// command line, also where a proxy passes it on.
func TestCommandSocketRefusesPages(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts})
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.Socket)
	}}}
	defer client.CloseIdleConnections()
	for _, header := range []string{"", "Origin", "Sec-Fetch-Mode"} {
		req, err := http.NewRequest(http.MethodPost, "http://rondo.sock/rondo.v1.Rondo/List", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		want := http.StatusOK
		if header != "" {
			req.Header.Set(header, "http://evil.example")
			want = http.StatusForbidden
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // its status is enough
		if resp.StatusCode != want {
			t.Errorf("with %q: %s, want %d", header, resp.Status, want)
		}
	}
}
