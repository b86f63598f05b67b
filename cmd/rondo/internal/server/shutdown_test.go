package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/receivers"
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
			case <-time.After(patience):
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
		case <-time.After(patience):
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

// TestEndWaitsForNoReload: a reload reads a file of a file system that hangs, and the server ends
// nevertheless. It waited as long as the file system.
func TestEndWaitsForNoReload(t *testing.T) {
	hang, hangs := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	check := func(receivers.Config) error {
		if first.CompareAndSwap(false, true) {
			return nil // at the start
		}
		close(hangs)
		<-hang
		return nil
	}
	reload := make(chan Ways)
	r := start(t, Config{HTTP: anyPorts, Ways: fakeWays(check), Reload: reload})
	w := fakeWays(check)
	w.Receivers[0].Options = map[string][]string{"changed": {"yes"}} // it is opened anew
	reload <- w
	<-hangs
	if code, _ := get(t, r.url("/metrics")); code != 200 {
		t.Errorf("while a reload hangs: %d", code)
	}
	if err := r.stop(); err != nil {
		t.Errorf("the end: %v", err)
	}
	if !strings.Contains(r.log.String(), "does not wait for files that are being read again") {
		t.Errorf("the log does not say so:\n%s", r.log)
	}
	close(hang)
	eventually(t, "the late reload ends", func() bool { return strings.Contains(r.log.String(), "configuration read again") })
}
