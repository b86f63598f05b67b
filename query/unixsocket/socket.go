// Package unixsocket makes unix sockets in the file system, and connects to them.
//
// [Listen] makes a socket that has its mode and group from the first moment, replaces one that a
// killed server left behind, and works with paths that are too long for the address of a socket.
// [Dial] connects to such a socket.
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// maxPath is the longest path, in bytes, that fits in a socket's address on all systems.
const maxPath = 100

// ErrNoSocket says that a file is not a socket.
var ErrNoSocket = errors.New("is no socket")

// Listen makes a socket at the path name and listens on it. dress sets mode and group of its file
// before anybody can connect; until then the file has the name fresh. Listen replaces a socket or
// file of that name even if somebody listens there: see [Vacant]. Closing the listener removes the
// socket, unless another file has taken its place.
func Listen(name string, dress func(fresh string) error) (net.Listener, error) {
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	defer func() { _ = d.Close() }() // nothing was written
	// Nobody connects to the fresh name, and the rename replaces a stale socket in one step.
	fresh := name + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short(fresh, d), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make socket %s: %w", name, err)
	}
	l.SetUnlinkOnClose(false)
	s := &socket{UnixListener: l, name: name}
	if err = dress(fresh); err == nil {
		s.file, err = os.Lstat(fresh)
	}
	if err == nil {
		err = os.Rename(fresh, name)
	}
	if err != nil {
		_ = l.Close() // the first error is the one to report
		_ = os.Remove(fresh)
		return nil, fmt.Errorf("make socket: %w", err)
	}
	return s, nil
}

// Dial connects to the socket at the path name. The error wraps [ErrNoSocket] if the file is not a
// socket, and [fs.ErrNotExist] if there is no file.
func Dial(ctx context.Context, name string) (net.Conn, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // nothing was written
	var nd net.Dialer
	c, err := nd.DialContext(ctx, "unix", short(name, d))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return &conn{c, name}, nil
}

// A conn is a connection to a socket. Its errors name the socket as it is called now: the system
// knows it by its first name, under which Listen has made it.
type conn struct {
	net.Conn
	name string
}

// RemoteAddr returns the path of the socket.
func (c *conn) RemoteAddr() net.Addr { return &net.UnixAddr{Name: c.name, Net: "unix"} }

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.named(err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.named(err)
}

func (c *conn) named(err error) error {
	e, ok := err.(*net.OpError)
	if !ok {
		return err
	}
	named := *e
	named.Addr = c.RemoteAddr()
	return &named
}

// Vacant returns nil if a socket may be made at the path name: there is no file, or a socket at
// which nobody listens any more. Otherwise the error says what is in the way; it wraps
// [ErrNoSocket] if that is not a socket.
func Vacant(ctx context.Context, name string) error {
	switch err := check(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if c, err := Dial(ctx, name); err == nil {
		_ = c.Close() // nothing was sent
		return fmt.Errorf("%s: somebody listens there", name)
	}
	return nil
}

// check returns an error if the file of the path name is missing or not a socket.
func check(name string) error {
	info, err := os.Stat(name)
	if err == nil && info.Mode()&fs.ModeSocket == 0 {
		err = fmt.Errorf("%s %w", name, ErrNoSocket)
	}
	return err
}

// short returns name if it is short enough, or else a name of the same file below the open folder
// d.
func short(name string, d *os.File) string {
	if len(name) <= maxPath {
		return name
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(d.Fd())), filepath.Base(name))
}

// A socket removes its file when it is closed.
type socket struct {
	*net.UnixListener
	name string
	file fs.FileInfo
	once sync.Once
}

// Addr returns the address that clients use.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.name, Net: "unix"} }

func (s *socket) Close() error {
	err := s.UnixListener.Close()
	s.once.Do(func() {
		if now, e := os.Lstat(s.name); e != nil || !os.SameFile(now, s.file) {
			return // the file is gone, or another one
		}
		if e := os.Remove(s.name); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	})
	return err
}
