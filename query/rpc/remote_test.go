package rpc_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// serveRemote serves commands over the network to a user, and returns a client.
func serveRemote(t *testing.T, r *rpc.Remote, u *access.User) *rpc.Client {
	t.Helper()
	l := &rpc.Commands{Store: enginetest.Open(t), Remote: r}
	mux := http.NewServeMux()
	path, h := (&rpc.Server{Store: l.Store}).Handler(l)
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(access.With(r.Context(), u)))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		l.Close(0)
		s.Close()
	})
	return rpcAt(t, s.URL)
}

// TestExecOverLimits: a command over the network that is too long is refused with both numbers,
// which a script can act on.
func TestExecOverLimits(t *testing.T) {
	c := serveRemote(t, &rpc.Remote{}, &access.User{Role: access.Admin})
	for want, req := range map[string]*rondov1.ExecRequest{
		"a command of 10001 words, at most 10000 are possible":     {Argv: append([]string{"update"}, make([]string, 10_000)...)},
		"a command of 1048577 bytes, at most 1048576 are possible": {Argv: []string{"last", strings.Repeat("x", 1<<20-4), "x"}},
		"a command of 1048580 bytes, at most 1048576 are possible": {Argv: []string{"last"}, Cwd: strings.Repeat("x", 1<<20)},
		"is larger than configured max 8323072":                    {Argv: []string{"restore", "-", "a"}, Stdin: make([]byte, rpc.MaxCommandBytes)},
	} {
		stream, err := c.Exec(t.Context(), req)
		if err == nil {
			stream.Receive()
			err = stream.Err()
			_ = stream.Close() // it has been read
		}
		if connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, errOut, code := run(t, c, &rondov1.ExecRequest{Argv: append([]string{"update"}, make([]string, 9_999)...)}); code != 1 {
		t.Errorf("a command of 10000 words: %d %q", code, errOut)
	}
}

// TestSilentSessionIsToldOf: a session that was silent from its beginning on ended without a word.
func TestSilentSessionIsToldOf(t *testing.T) {
	s, err := serveRemote(t, &rpc.Remote{Idle: time.Millisecond}, &access.User{Role: access.Admin}).Pipe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it has ended
	m, err := s.Receive()
	if err != nil || m.GetExitCode() != 1 || string(m.GetStderr()) != "ERROR: nothing was asked for a while: the session has ended\n" {
		t.Errorf("%v, %v", m, err)
	}
}

// TestSessionEndsWithTheRights: a session ends when its user has other rights or none, also while
// the server asks for a file of the caller.
func TestSessionEndsWithTheRights(t *testing.T) {
	changed := map[string]func() (*access.User, error){
		"what the user \"u\" may do has changed": func() (*access.User, error) { return &access.User{Name: "u", Role: access.Read}, nil },
		"no such user":                           func() (*access.User, error) { return nil, errors.New("no such user") },
	}
	first := map[string]*rondov1.ExecRequest{
		"lines":  {Argv: []string{"-"}},
		"a file": {Argv: []string{"restore", "-", "a"}, Files: true},
	}
	for want, changed := range changed {
		for name, first := range first {
			t.Run(name+", "+want, func(t *testing.T) {
				t.Parallel()
				was := access.User{Name: "u", Role: access.Write}
				var gone atomic.Bool
				c := serveRemote(t, &rpc.Remote{User: func(*http.Request) (*access.User, error) {
					if gone.Load() {
						return changed()
					}
					same := was
					return &same, nil
				}}, &was)
				s, err := c.Pipe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = s.Close() }() // it has ended
				if err := s.Send(first); err != nil {
					t.Fatal(err)
				}
				gone.Store(true)
				if got := untilRefused(t, s, first.GetFiles()); !strings.Contains(got, want) {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

// untilRefused sends lines, or pieces of a file, each when the last one was answered, until the
// session ends. It returns the last error.
func untilRefused(t *testing.T, s *rpc.Session, file bool) string {
	t.Helper()
	next := &rondov1.ExecRequest{Stdin: []byte("last nosuch\n")}
	if file {
		next = &rondov1.ExecRequest{File: &rondov1.FileAnswer{Data: []byte(" ")}}
	} else if err := s.Send(next); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.ExitCode != nil {
			return string(m.GetStderr())
		}
		if m.GetFile() == nil && !strings.Contains(string(m.GetStdout())+string(m.GetStderr()), "ERROR: ") {
			continue
		}
		if err := s.Send(next); err != nil {
			t.Fatal(err)
		}
	}
}
