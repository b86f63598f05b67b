package backend

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rpc"
)

// TestWhereGraphsAreDrawn: the server draws graphs that are asked for at its socket, unless they
// have series of another server.
func TestWhereGraphsAreDrawn(t *testing.T) {
	name := filepath.Join(t.TempDir(), rpc.SocketName)
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	socket, err := rpc.Dial(t.Context(), "unix:"+name)
	if err != nil {
		t.Fatal(err)
	}
	far, err := rpc.Dial(t.Context(), "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		client *rpc.Client
		here   bool
	}{
		{"graph g.png DEF:a=a:x:AVERAGE LINE:a#f00", socket, false},
		{"graphv - DEF:a=a:x:AVERAGE LINE:a#f00", socket, false},
		{"graph g.png DEF:a=a:x:AVERAGE:daemon=host LINE:a#f00", socket, true},
		{"graph g.png --daemon=host DEF:a=a:x:AVERAGE LINE:a#f00", socket, true},
		{"graph g.png DEF:a=a:x:AVERAGE LINE:a#f00", far, true},
		{"xport DEF:a=a:x:AVERAGE XPORT:a", socket, false},
	} {
		store, err := server{c.client}.storeHere(t.Context(), (&Call{}).env(), strings.Fields(c.args))
		if here := store != nil; err != nil || here != c.here {
			t.Errorf("%s: in this process %v, %v; want %v", c.args, here, err, c.here)
		}
	}
}

// TestOpenCredentialsAreReported: who sends a password or a token to another machine without
// encryption gets a warning, and nobody else does.
func TestOpenCredentialsAreReported(t *testing.T) {
	const warning = "what says who you are goes to "
	for _, tt := range []struct {
		daemon, token string
		warned        bool
	}{
		{"http://u:p@192.0.2.1:9180", "", true},
		{"http://192.0.2.1:9180", "secret", true},
		{"db.example.com:9180", "secret", true},
		{"http://192.0.2.1:9180", "", false},
		{"https://192.0.2.1:9180", "secret", false},
		{"https://u:p@db.example.com", "", false},
		{"http://127.0.0.1:9180", "secret", false},
		{"http://[::1]:9180", "secret", false},
		{"http://u:p@localhost:9180", "", false},
	} {
		var told []string
		target := Target{Daemon: tt.daemon, Credentials: Credentials{Token: tt.token}, Notice: func(line string) { told = append(told, line) }}
		c, err := target.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		got := strings.Join(told, "\n")
		if strings.HasPrefix(got, warning) != tt.warned || !tt.warned && got != "" || strings.Contains(got, "secret") || strings.Contains(got, "u:p") {
			t.Errorf("%s, token %q: told %q", tt.daemon, tt.token, got)
		}
	}
}
