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
	defer l.Close()
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
