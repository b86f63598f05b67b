package rpc_test

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/unixsocket"
)

// TestKilledServerIsToldOf: a server that was killed while it was asked was "connection reset by
// peer", "unexpected EOF" or "broken pipe", at a rondo.sock.new that nobody has.
func TestKilledServerIsToldOf(t *testing.T) {
	calls := map[string]func(c *rpc.Client) error{
		"a call": func(c *rpc.Client) error {
			_, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: "a"})
			return err
		},
		"a stream": func(c *rpc.Client) error {
			s, err := c.Exec(t.Context(), &rondov1.ExecRequest{Argv: []string{"last", "a"}})
			if err != nil {
				return err
			}
			s.Receive()
			return s.Err()
		},
		"a session": func(c *rpc.Client) error {
			s, err := c.Pipe(t.Context())
			if err != nil {
				return err
			}
			_, err = s.Receive()
			return err
		},
	}
	const begun = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: rondo-pipe\r\n\r\n"
	const half = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+proto\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\x00\x00"
	for _, end := range []struct {
		name, answer string
		reads        int
		only         string // the one it answers so; empty: all
	}{
		{"with unread words", "", 1, ""},
		{"without a word", "", 1 << 16, ""},
		{"within an answer", half, 1 << 16, "a stream"},
		{"within a session", begun, 1 << 16, "a session"},
	} {
		dir := t.TempDir()
		l, err := unixsocket.Listen(filepath.Join(dir, rpc.SocketName), func(string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() }) // serving says what is wrong
		go func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				dies(nc, end.answer, end.reads)
			}
		}()
		for name, call := range calls {
			if end.only != "" && end.only != name {
				continue
			}
			err := call(rpcAt(t, "unix:"+filepath.Join(dir, rpc.SocketName)))
			if !errors.Is(err, rpc.ErrEnded) || strings.Contains(err.Error(), ".new") {
				t.Errorf("%s, ended %s: %v", name, end.name, err)
			}
		}
	}
}

// dies reads some of a request, answers, and is gone.
func dies(nc net.Conn, answer string, reads int) {
	_, _ = nc.Read(make([]byte, reads)) // a Dial that only looks closes it
	_, _ = nc.Write([]byte(answer))
	_ = nc.Close()
}

// TestPortWithoutHTTPIsToldOf: http:// in front of the address of a port of rrdcached's protocol,
// which closes such connections, was "the server ended before it had answered".
func TestPortWithoutHTTPIsToldOf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			dies(nc, "", 1<<16)
		}
	}()
	c := rpcAt(t, "http://"+l.Addr().String())
	_, call := c.Info(t.Context(), &rondov1.InfoRequest{Path: "a"})
	_, session := c.Pipe(t.Context())
	stream, err := c.Far.Tail(t.Context(), &rondov1.TailRequest{Paths: []string{"a"}})
	if err == nil {
		stream.Receive()
		err = stream.Err()
	}
	for what, err := range map[string]error{"a call": call, "a session": session, "a stream": err} {
		if err == nil || errors.Is(err, rpc.ErrEnded) || !strings.Contains(err.Error(), "speaks no HTTP. A server of rrdcached's protocol is named without http://") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
