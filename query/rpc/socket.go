package rpc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// SocketName is the name of the socket in the database's folder.
const SocketName = "rondo.sock"

// maxSocketPath is the longest path that fits a socket's address on every system rondo runs on.
const maxSocketPath = 100

// ListenLocal makes the socket rondo.sock in the folder dir, which only the folder's owner may open, in
// place of one that a killed server left behind. The caller must hold the lock of the database. Closing the
// listener removes the socket.
func ListenLocal(dir string) (net.Listener, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	defer func() { _ = d.Close() }() // read only
	// Under a name nobody connects to until its mode is right; the rename replaces a stale socket at once.
	name, fresh := filepath.Join(dir, SocketName), filepath.Join(dir, SocketName+".new")
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short(fresh, d), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make socket %s: %w", name, err)
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(fresh, 0o600); err == nil {
		err = os.Rename(fresh, name)
	}
	if err != nil {
		_ = l.Close() // the first error is the one to tell
		_ = os.Remove(fresh)
		return nil, fmt.Errorf("make socket: %w", err)
	}
	return &socket{UnixListener: l, name: name}, nil
}

// A socket removes its file when it is closed.
type socket struct {
	*net.UnixListener
	name string
	once sync.Once
}

// Addr returns the address that clients use.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.name, Net: "unix"} }

func (s *socket) Close() error {
	err := s.UnixListener.Close()
	s.once.Do(func() {
		if e := os.Remove(s.name); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	})
	return err
}

// short returns name, or a shorter name of the same file by way of the open folder d.
func short(name string, d *os.File) string {
	if len(name) <= maxSocketPath {
		return name
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(d.Fd())), filepath.Base(name))
}

// DialLocal returns a client of the server that runs in the folder dir, if one answers at its socket.
func DialLocal(ctx context.Context, dir string) (*Client, error) {
	return dialUnix(ctx, filepath.Join(dir, SocketName))
}

// dialUnix returns a client of the server at the socket name, having seen that it accepts.
func dialUnix(ctx context.Context, name string) (*Client, error) {
	dial := func(ctx context.Context) (net.Conn, error) {
		d, err := os.Open(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		defer func() { _ = d.Close() }() // read only
		var nd net.Dialer
		return nd.DialContext(ctx, "unix", short(name, d))
	}
	c, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	_ = c.Close() // nothing was sent
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	client := newClient(t, "http://"+SocketName)
	client.dial = dial
	return client, nil
}
