package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/query/unixsocket"
)

// SocketName is the name of the socket in the database's folder.
const SocketName = "rondo.sock"

// ListenLocal makes the socket rondo.sock in the folder dir, which only the folder's owner may
// open, in place of one that a killed server left behind. The caller must hold the lock of the
// database. Closing the listener removes the socket.
func ListenLocal(dir string, access unixsocket.Access) (net.Listener, error) {
	return unixsocket.Listen(filepath.Join(dir, SocketName), access.Apply)
}

// silentTime is how long a server may take to say that it is there.
const silentTime = 10 * time.Second

// ErrSilent says that a server has its socket open and does not answer: its process is stopped, or
// hangs.
var ErrSilent = errors.New("does not answer: the server is stopped (SIGSTOP), or hangs")

// DialLocal returns a client of the server that runs in the folder dir, if one answers at its
// socket. The error wraps [ErrSilent] where one should and does not, and [unixsocket.ErrNoSocket]
// where something else has the socket's name.
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
	_ = c.SetDeadline(time.Now().Add(silent)) // else the read says so
	_, err = c.Write([]byte("HEAD / HTTP/1.1\r\nHost: " + SocketName + "\r\nConnection: close\r\n\r\n"))
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s %w", name, ErrSilent)
	case err != nil:
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return clientOf(name), nil
}

// dialUnix returns a client of the server at the socket name, having seen that it accepts.
func dialUnix(ctx context.Context, name string) (*Client, error) {
	c, err := unixsocket.Dial(ctx, name)
	if err != nil {
		return nil, err
	}
	_ = c.Close() // nothing was sent
	return clientOf(name), nil
}

// clientOf returns a client of the server at the socket name.
func clientOf(name string) *Client {
	dial := func(ctx context.Context) (net.Conn, error) { return unixsocket.Dial(ctx, name) }
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	client := newClient(t, "http://"+SocketName)
	client.dial = dial
	return client
}
