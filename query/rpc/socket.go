package rpc

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/query/unixsocket"
)

// ListenLocal makes the socket rondo.sock in the folder dir and listens on it. It replaces a socket
// that a killed server left behind, so the caller must hold the lock of the database. access says
// who may connect; its zero value is the folder's owner alone. Closing the listener removes the
// socket.
func ListenLocal(dir string, access unixsocket.Access) (net.Listener, error) {
	return unixsocket.Listen(filepath.Join(dir, SocketName), access.Apply)
}

// silentTime is how long DialLocal waits for a server's first answer.
const silentTime = 10 * time.Second

// DialLocal returns a client of the server that runs in the folder dir, once the server has
// answered at its socket. The error wraps [ErrSilent] if the server accepts the connection and does
// not answer within 10 seconds, and [unixsocket.ErrNoSocket] if the file of the socket's name is no
// socket.
func DialLocal(ctx context.Context, dir string) (*Client, error) {
	return dialSocket(ctx, filepath.Join(dir, SocketName), silentTime)
}
