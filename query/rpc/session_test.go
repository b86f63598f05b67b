package rpc_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// begin begins a session of rrdtool's pipe mode, in which the series a.rrd is made.
func begin(t *testing.T, c *rpc.Client) *rpc.Session {
	t.Helper()
	s, err := c.Pipe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test is over
	if err := s.Send(&rondov1.ExecRequest{Argv: []string{"-"}, Plain: true}); err != nil {
		t.Fatal(err)
	}
	talk(t, s, "create a.rrd --start 1000000000 --step 10 DS:x:GAUGE:20:U:U RRA:LAST:0.5:1:5")
	return s
}

// talk sends a line and returns what is answered, up to the line that begins with OK or ERROR.
func talk(t *testing.T, s *rpc.Session, line string) string {
	t.Helper()
	if err := s.Send(&rondov1.ExecRequest{Stdin: []byte(line + "\n")}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for !strings.Contains(out.String(), "OK u:") && !strings.Contains(out.String(), "ERROR: ") {
		m, err := s.Receive()
		if err != nil {
			t.Fatalf("%q, then %v", out.String(), err)
		}
		out.Write(m.GetStdout())
	}
	return out.String()
}

// TestSession: a session carries commands, their answers, errors, and a line longer than any buffer
// on the way.
func TestSession(t *testing.T) {
	dir := t.TempDir()
	path, h := commandsOf(enginetest.Open(t))
	mux, upgraded := http.NewServeMux(), false
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		upgraded = upgraded || r.Header.Get("Upgrade") != ""
		h.ServeHTTP(w, r)
	})
	serveHandler(t, dir, mux)
	s := begin(t, dialLocal(t, dir))
	talk(t, s, "update a.rrd 1000000010:7")
	if got := talk(t, s, "lastupdate a.rrd"); !strings.Contains(got, "1000000010: 7\n") {
		t.Errorf("lastupdate: %q", got)
	}
	if got := talk(t, s, "update b.rrd 1000000010:7"); !strings.HasPrefix(got, "ERROR: opening 'b.rrd'") {
		t.Errorf("update of what is not there: %q", got)
	}
	big := strings.Repeat("x", 900<<10) // more than any buffer on the way
	if got := talk(t, s, "info "+big); !strings.HasPrefix(got, "ERROR: ") {
		t.Errorf("info of a long name: %.50q", got)
	}
	if err := s.Send(&rondov1.ExecRequest{Stdin: []byte("quit\n")}); err != nil {
		t.Fatal(err)
	}
	m, err := s.Receive()
	for err == nil && m.ExitCode == nil { // the rest of the long error
		m, err = s.Receive()
	}
	if err != nil || m.GetExitCode() != 0 {
		t.Errorf("quit: %v %v", m, err)
	}
	if !upgraded {
		t.Error("nobody asked for the connection")
	}
}

// TestSessionRefused: a server that begins no session is reported, with what it answered.
func TestSessionRefused(t *testing.T) {
	dir := t.TempDir()
	path, h := commandsOf(enginetest.Open(t))
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Upgrade")
		h.ServeHTTP(w, r)
	})
	serveHandler(t, dir, mux)
	s, err := dialLocal(t, dir).Pipe(t.Context())
	if err == nil {
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a server that knows no sessions: %v", err)
	}
	if s, err = rpcAt(t, "127.0.0.1:1").Pipe(t.Context()); err == nil || err.Error() != "http://127.0.0.1:1: connection refused: no server listens there" {
		t.Errorf("a session where nothing listens: %v, %v", s, err)
	}
}

// rpcAt returns a client of an address.
func rpcAt(t *testing.T, addr string) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestSessionsEnd: a server that ends does not wait for those who say nothing.
func TestSessionsEnd(t *testing.T) {
	dir := t.TempDir()
	local := &rpc.Commands{Store: enginetest.Open(t)}
	mux := http.NewServeMux()
	mux.Handle((&rpc.Server{Store: local.Store}).Handler(local))
	serveHandler(t, dir, mux)
	c := dialLocal(t, dir)
	s := begin(t, c)
	local.Close(time.Hour) // does not return otherwise
	if m, err := s.Receive(); !errors.Is(err, rpc.ErrEnded) {
		t.Errorf("behind the end: %v %v", m, err)
	}
	if s, err := c.Pipe(t.Context()); err == nil {
		_ = s.Close()
		t.Error("a session began behind the end")
	}
}

// TestSessionOfAnyBytes: what is no message ends the session, and takes no memory for what it
// announces.
func TestSessionOfAnyBytes(t *testing.T) {
	dir := t.TempDir()
	store := enginetest.Open(t)
	serveLocal(t, dir, store)
	for name, sent := range map[string][]byte{
		"a length beyond all":        {0xff, 0xff, 0xff, 0xff, 1},
		"a message that is none":     append(binary.BigEndian.AppendUint32(nil, 3), 0xff, 0xff, 0xff),
		"a message that is cut off":  binary.BigEndian.AppendUint32(nil, 60<<20),
		"half a length":              {0, 0},
		"text":                       []byte("GET / HTTP/1.1\r\n\r\n"),
		"an empty message, and more": append(make([]byte, 4), "nonsense"...),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", filepath.Join(dir, rpc.SocketName))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }() // it was read to its end
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: rondo-pipe\r\nContent-Length: 0\r\n\r\n%s", "/rondo.v1.Rondo/Pipe", sent); err != nil {
				t.Fatal(err)
			}
			if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%v, %v", answer, err)
			}
			_ = answer.Body.Close() // there is none
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("the connection does not end: %v", err)
			}
		})
	}
	c := dialLocal(t, dir)
	if _, errOut, code := run(t, c, &rondov1.ExecRequest{Argv: []string{"list"}}); code != 0 {
		t.Errorf("the server is no longer well: %s", errOut)
	}
}
