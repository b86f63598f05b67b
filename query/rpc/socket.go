package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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

// ErrSilent says that a server holds its socket open but does not answer: its process is stopped,
// or hangs.
var ErrSilent = errors.New("does not answer: the server is stopped (SIGSTOP), or hangs")

// DialLocal returns a client of the server that runs in the folder dir, once the server has
// answered at its socket. The error wraps [ErrSilent] if the server accepts the connection and does
// not answer within 10 seconds, and [unixsocket.ErrNoSocket] if the file of the socket's name is no
// socket.
func DialLocal(ctx context.Context, dir string) (*Client, error) {
	return dialLocal(ctx, dir, silentTime)
}

func dialLocal(ctx context.Context, dir string, silent time.Duration) (*Client, error) {
	name := filepath.Join(dir, SocketName)
	c, err := unixsocket.Dial(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // it has been answered
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(silent)) // on an error the read fails too
	_, err = c.Write([]byte("HEAD / HTTP/1.1\r\nHost: " + SocketName + "\r\nConnection: close\r\n\r\n"))
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s %w", name, ErrSilent)
	case brokeOff(err) || errors.Is(err, io.EOF):
		return nil, fmt.Errorf("connect to %s: the server that listened there has just ended: %w", name, err)
	case err != nil:
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return clientOf(name), nil
}
