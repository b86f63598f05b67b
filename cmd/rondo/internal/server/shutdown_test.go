package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
)

// A logLines is a log that passes its lines on.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestStoppingSaysWhatItWaitsFor: what takes long at the end of a server stands in the log by name,
// and what has ended does not.
func TestStoppingSaysWhatItWaitsFor(t *testing.T) {
	log := make(logLines, 100)
	w := newWaits(slog.New(slog.NewTextHandler(log, nil)))
	w.first, w.next = time.Millisecond, time.Millisecond
	one, two := make(chan struct{}), make(chan struct{})
	w.run("one", func() { <-one })
	w.run("two", func() { <-two })
	done := make(chan struct{})
	go func() {
		w.wait()
		close(done)
	}()
	want := func(what string) {
		t.Helper()
		for {
			select {
			case line := <-log:
				if strings.Contains(line, what) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("no line says %s", what)
			}
		}
	}
	want(`waits_for="one, two"`)
	close(one)
	want("waits_for=two")
	close(two)
	for {
		select {
		case <-log:
			continue
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("it does not end")
		}
		return
	}
}

// TestNodeStopsWhileItWaitsForItsCluster: a node that has to stop before the servers of NATS have
// answered stops at once, and that is no error. It waited for the minute that it gives the servers,
// and failed then.
func TestNodeStopsWhileItWaitsForItsCluster(t *testing.T) {
	log := make(logLines, 100)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := Config{DB: t.TempDir(), Logger: slog.New(slog.NewTextHandler(log, nil)), Cluster: &clustered.Options{
		Servers: clustered.Servers{URL: "nats://127.0.0.1:1", Name: "x", LogBytes: 1 << 20},
		Node:    "a", Listen: "127.0.0.1:0", Partitions: 1, Replicas: 1,
	}}
	go func() { done <- Run(ctx, c) }()
	for waits := false; !waits; {
		select {
		case line := <-log:
			waits = strings.Contains(line, "cannot use the servers of the cluster yet")
		case err := <-done:
			t.Fatal("the server does not wait for its cluster: ", err)
		}
	}
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(joinTime / 2):
		t.Fatal(errors.Join(errors.New("the server does not end"), <-done))
	}
}

// TestAServerWaitsForACommand: a command that works in the folder when a server starts does not
// keep it from starting. What is at the socket answers nothing, and so is no server.
func TestAServerWaitsForACommand(t *testing.T) {
	dir := t.TempDir()
	command, err := core.Open(dir, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, rpc.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		c, err := l.Accept() // the server has found the folder locked
		if err != nil {
			return
		}
		_ = c.Close()
		if err := command.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := &server{Config: Config{DB: dir}}
	db, err := s.openFolder(t.Context(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
