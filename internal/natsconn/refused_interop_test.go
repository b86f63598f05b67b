package natsconn

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rondo-db/rondo/internal/natstest"
)

// TestRefusedLogin: when the passwords of the servers had been changed for some seconds, a node was
// lost for good: the client gives up when a server has refused it twice. It tries without end, says
// once a minute what the servers say, and so do the errors of calls meanwhile.
func TestRefusedLogin(t *testing.T) {
	dir := t.TempDir()
	p := natstest.Start(t, dir, "n1", "127.0.0.1:-1", "authorization { user: u, password: first }")
	if p == nil {
		t.Fatal("nats-server ended by itself: " + natstest.LogOf(dir))
	}
	change := func(from, to string) {
		t.Helper()
		file := filepath.Join(dir, "nats.conf")
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, bytes.Replace(b, []byte("password: "+from), []byte("password: "+to), 1), 0o600)
		}
		if err == nil {
			err = syscall.Kill(p.PID(), syscall.SIGHUP)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer // of one goroutine of the client; read when the connection is closed
	nc, err := Connect(strings.Replace(p.URL, "nats://", "nats://u:first@", 1), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: it does not come to that; %v", what, nc.LastError())
			}
		}
	}
	change("first", "second")
	until("refused", func() bool { return errors.Is(nc.LastError(), nats.ErrAuthorization) })
	until("refused again and again", func() bool { return strings.Count(natstest.LogOf(dir), "authentication error") > 2 })
	err = nc.Publish("x", nil)
	if got := Explain(nc, err); !errors.Is(got, err) || !errors.Is(got, nats.ErrAuthorization) || !strings.Contains(got.Error(), "not connected") {
		t.Errorf("%v is explained as %v", err, got)
	}
	if nc.IsClosed() {
		t.Fatal("the connection has given up")
	}
	change("second", "first")
	until("taken again", nc.IsConnected)
	if err := errors.Join(nc.Publish("x", nil), nc.FlushTimeout(time.Minute)); err != nil {
		t.Error(err)
	}
	nc.Close()
	<-closed
	if got := strings.Count(strings.ToLower(log.String()), "authorization violation"); got != 1 {
		t.Errorf("the log tells %d times of it:\n%s", got, &log)
	}
}

// TestForbiddenSubject: a server does not answer what a user may not ask. The error named only the
// time that was over.
func TestForbiddenSubject(t *testing.T) {
	dir := t.TempDir()
	p := natstest.Start(t, dir, "n1", "127.0.0.1:-1", `authorization { users: [ { user: u, password: p, permissions: { publish: { deny: "secret.>" } } } ] }`)
	if p == nil {
		t.Fatal("nats-server ended by itself: " + natstest.LogOf(dir))
	}
	nc, err := Connect(strings.Replace(p.URL, "nats://", "nats://u:p@", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = nc.RequestWithContext(ctx, "secret.x", nil)
	for deadline := time.Now().Add(time.Minute); nc.LastError() == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) { // it comes by itself
	}
	if got := Explain(nc, err); !errors.Is(got, err) || !errors.Is(got, nats.ErrPermissionViolation) || !strings.Contains(got.Error(), "secret.x") {
		t.Errorf("%v is explained as %v", err, got)
	}
	if err := errors.New("another"); Explain(nc, err) != err {
		t.Error("an error that says what is wrong is changed")
	}
}
