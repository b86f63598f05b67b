package rpc

import (
	"context"
	"net"
	"net/http"
	"path/filepath"

	"github.com/rondo-db/rondo/query/unixsocket"
)

// SocketName is the name of the socket in the database's folder.
const SocketName = "rondo.sock"

// ListenLocal makes the socket rondo.sock in the folder dir, which only the folder's owner may open, in
// place of one that a killed server left behind. The caller must hold the lock of the database. Closing the
// listener removes the socket.
func ListenLocal(dir string, access unixsocket.Access) (net.Listener, error) {
	return unixsocket.Listen(filepath.Join(dir, SocketName), access.Apply)
}

// DialLocal returns a client of the server that runs in the folder dir, if one answers at its socket.
func DialLocal(ctx context.Context, dir string) (*Client, error) {
	return dialUnix(ctx, filepath.Join(dir, SocketName))
}

// dialUnix returns a client of the server at the socket name, having seen that it accepts.
func dialUnix(ctx context.Context, name string) (*Client, error) {
	dial := func(ctx context.Context) (net.Conn, error) { return unixsocket.Dial(ctx, name) }
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	_ = c.Close() // nothing was sent
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	client := newClient(t, "http://"+SocketName)
	client.dial = dial
	return client, nil
}
