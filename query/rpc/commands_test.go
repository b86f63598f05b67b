package rpc_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/unixsocket"
)

// commandsOf answers the methods of a server at its socket.
func commandsOf(store core.Engine) (string, http.Handler) {
	return (&rpc.Server{Store: store}).Handler(&rpc.Commands{Store: store})
}

// serveLocal serves store at the socket in dir until the test ends.
func serveLocal(t *testing.T, dir string, store *core.Store) net.Listener {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(commandsOf(store))
	return serveHandler(t, dir, mux)
}

// serveHandler serves h at the socket in dir until the test ends.
func serveHandler(t *testing.T, dir string, h http.Handler) net.Listener {
	t.Helper()
	l, err := rpc.ListenLocal(dir, unixsocket.Access{})
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: &protocols}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l
}

func dialLocal(t *testing.T, dir string) *rpc.Client {
	t.Helper()
	c, err := rpc.DialLocal(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// run runs a verb and returns what it prints.
func run(t *testing.T, c *rpc.Client, req *rondov1.ExecRequest) (stdout, stderr string, code int32) {
	t.Helper()
	stream, err := c.Exec(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	code = -1
	for stream.Receive() {
		stdout += string(stream.Msg().GetStdout())
		stderr += string(stream.Msg().GetStderr())
		if stream.Msg().ExitCode != nil {
			code = stream.Msg().GetExitCode()
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return stdout, stderr, code
}

func TestExec(t *testing.T) {
	dir := t.TempDir()
	serveLocal(t, dir, enginetest.Open(t))
	c := dialLocal(t, dir)
	argv := func(s string) *rondov1.ExecRequest { return &rondov1.ExecRequest{Argv: strings.Fields(s)} }
	if out, errOut, code := run(t, c, argv("create a.rrd -s 10 -b 1000000000 DS:v:GAUGE:20:U:U RRA:LAST:0.5:1:5")); code != 0 || out+errOut != "" {
		t.Fatalf("create: %d %q %q", code, out, errOut)
	}
	if out, errOut, code := run(t, c, argv("update a.rrd 1000000010:7")); code != 0 || out+errOut != "" {
		t.Fatalf("update: %d %q %q", code, out, errOut)
	}
	if out, _, code := run(t, c, argv("lastupdate a.rrd")); code != 0 || !strings.HasSuffix(out, "\n1000000010: 7\n") {
		t.Errorf("lastupdate: %d %q", code, out)
	}
	if _, errOut, code := run(t, c, argv("update b.rrd N:1")); code != 1 || !strings.HasPrefix(errOut, "ERROR: opening 'b.rrd'") {
		t.Errorf("update of an unknown series: %d %q", code, errOut)
	}
}

// TestExecInTheCallersZone: midnight is the caller's, and so is the present.
func TestExecInTheCallersZone(t *testing.T) {
	dir := t.TempDir()
	serveLocal(t, dir, enginetest.Open(t))
	c := dialLocal(t, dir)
	create := "create a.rrd -s 3600 -b 1699900000 DS:v:GAUGE:7200:U:U RRA:LAST:0.5:1:50"
	if _, errOut, code := run(t, c, &rondov1.ExecRequest{Argv: strings.Fields(create)}); code != 0 {
		t.Fatal(errOut)
	}
	for tz, want := range map[string]string{
		"UTC0":             " 1699923600:", // midnight is 1699920000
		"UTC":              " 1699923600:",
		"Asia/Kathmandu":   " 1699902000:", // a quarter past six before; rows are of whole hours UTC
		":America/Caracas": " 1699938000:",
	} {
		out, errOut, code := run(t, c, &rondov1.ExecRequest{
			Argv:        strings.Fields("fetch a.rrd LAST -s midnight -e start+1h"),
			Environment: map[string]string{"TZ": tz},
			NowUs:       1699956000e6, // 2023-11-14 10:00 UTC
		})
		lines := strings.Split(out, "\n")
		if code != 0 || len(lines) < 3 || !strings.HasPrefix(" "+lines[2], want) {
			t.Errorf("TZ=%s: %d %q %q, want the first row at%s", tz, code, out, errOut, want)
		}
	}
}

func TestBackupStreams(t *testing.T) {
	dir := t.TempDir()
	store := enginetest.Open(t)
	serveLocal(t, dir, store)
	c := dialLocal(t, dir)
	if _, errOut, code := run(t, c, &rondov1.ExecRequest{Argv: strings.Fields("create a.rrd -b 1000000000 DS:v:GAUGE:20:U:U RRA:LAST:0.5:1:5")}); code != 0 {
		t.Fatal(errOut)
	}
	stream, err := c.Backup(t.Context(), &rondov1.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var copied bytes.Buffer
	for stream.Receive() {
		copied.Write(stream.Msg().GetData())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "restored")
	if err := core.Restore(&copied, to); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.OpenDir(t, to, core.Options{}).Lookup("a"); err != nil {
		t.Error(err)
	}
	problems, err := c.Check(t.Context(), &rondov1.CheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for problems.Receive() {
		t.Error(problems.Msg())
	}
	if err := problems.Err(); err != nil {
		t.Error(err)
	}
}

func TestSocket(t *testing.T) {
	for _, tt := range []struct{ name, sub string }{
		{"short path", "db"},
		{"path longer than a socket's may be", strings.Repeat("long/", 30) + "db"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tt.sub)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, rpc.SocketName)
			if err := os.WriteFile(name, nil, 0o600); err != nil { // a stale one
				t.Fatal(err)
			}
			if c, err := rpc.DialLocal(t.Context(), dir); err == nil {
				c.Close()
				t.Error("a stale socket answers")
			}
			l, err := rpc.ListenLocal(dir, unixsocket.Access{})
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("mode is %v, want a socket for its owner only", info.Mode())
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				_ = http.Serve(l, http.NotFoundHandler()) // it ends with the socket
			}()
			c, err := rpc.DialLocal(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			<-served
			if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is still there after Close: %v", err)
			}
		})
	}
}

func TestLocalIsNotServedOnTCP(t *testing.T) {
	_, url := serve(t)
	c, err := rpc.Dial(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stream, err := c.Exec(t.Context(), &rondov1.ExecRequest{Argv: []string{"list"}})
	if err == nil {
		for stream.Receive() {
			t.Errorf("received %v", stream.Msg())
		}
		err = stream.Err()
	}
	if connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("got %v, want unimplemented", err)
	}
}
