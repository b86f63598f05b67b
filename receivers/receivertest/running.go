package receivertest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// A Running is a receiver that serves into a Recorder.
type Running struct {
	receivers.Receiver
	Recorder *Recorder

	t      testing.TB
	c      Case
	cancel context.CancelFunc
	err    chan error
	conn   net.Conn
}

// Start makes a receiver of c and serves. When the test ends the receiver is stopped, and the test
// fails if it leaves a goroutine behind.
func Start(t testing.TB, c Case, rec *Recorder, change func(*receivers.Config)) *Running {
	t.Helper()
	// What a receiver starts inherits this label: so its goroutines are told from others'.
	id := fmt.Sprintf("%s %d", t.Name(), started.Add(1))
	labels := pprof.Labels(labelKey, id)
	cfg := receivers.Config{
		Address: c.Address,
		Options: c.Options,
		Now:     func() time.Time { return time.Unix(Now, 0) },
		// A sink that is stalled is one on purpose.
		Patience: 100 * time.Millisecond,
		Logger:   slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
	switch {
	case cfg.Address != "":
	case c.Protocol.Network == "dir":
		cfg.Address = t.TempDir()
	default:
		cfg.Address = "127.0.0.1:0"
	}
	if change != nil {
		change(&cfg)
	}
	var r receivers.Receiver
	var err error
	pprof.Do(context.Background(), labels, func(context.Context) { r, err = c.Protocol.New(cfg, rec) })
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &Running{Receiver: r, Recorder: rec, t: t, c: c, cancel: cancel, err: make(chan error, 1)}
	go pprof.Do(ctx, labels, func(ctx context.Context) { run.err <- r.Serve(ctx) })
	t.Cleanup(func() {
		if run.conn != nil {
			_ = run.conn.Close() // it has served
		}
		run.Stop()
		eventually(t, "no goroutine is left", func() bool { return !labelled(t, id) })
	})
	return run
}

const labelKey = "receivertest"

// started makes the labels of receivers differ.
var started atomic.Int64

// labelled reports whether there is a goroutine with the label id.
func labelled(t testing.TB, id string) bool {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(b.String(), fmt.Sprintf("%q:%q", labelKey, id))
}

// Stop ends Serve and waits for it. It may be called more than once.
func (r *Running) Stop() {
	r.t.Helper()
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.cancel = nil
	select {
	case err := <-r.err:
		if err != nil {
			r.t.Errorf("serve: %v", err)
		}
	case <-time.After(waitFor):
		buf := make([]byte, 1<<20)
		r.t.Fatalf("serve does not return:\n%s", buf[:runtime.Stack(buf, true)])
	}
}

// Send sends messages to the receiver, over one connection or as the Case delivers them.
func (r *Running) Send(messages ...[]byte) {
	r.t.Helper()
	if r.c.Deliver != nil {
		for _, m := range messages {
			r.c.Deliver(r.t, r.Receiver, m)
		}
		return
	}
	first := r.conn == nil
	if first {
		r.conn = r.Dial()
		if len(r.c.Opening) > 0 {
			r.write(r.conn, r.c.Opening)
		}
	}
	for i, m := range messages {
		if first && i == 0 {
			m = r.c.first(m)
		}
		r.write(r.conn, m)
	}
}

// Dial opens one more connection to the receiver, on which nothing has been sent yet. It is closed
// when the test ends.
func (r *Running) Dial() net.Conn {
	r.t.Helper()
	if r.c.Dial != nil {
		return r.c.Dial(r.t, r.Receiver)
	}
	conn, err := net.Dial(r.c.Protocol.Network, r.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() }) // it has served
	return conn
}

func (r *Running) write(conn net.Conn, b []byte) {
	r.t.Helper()
	if _, err := conn.Write(b); err != nil {
		r.t.Fatalf("send %d bytes: %v", len(b), err)
	}
}

// Until waits until cond is true of what the Recorder was given.
func (r *Running) Until(what string, cond func(State) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	if err := r.Recorder.Until(ctx, cond); err != nil {
		r.t.Fatalf("%s: not within %v; %+v", what, waitFor, r.Stats())
	}
}

// UntilSamples waits for n samples.
func (r *Running) UntilSamples(n int) []Sample {
	r.t.Helper()
	r.Until(fmt.Sprintf("%d samples", n), func(s State) bool { return len(s.Samples) >= n })
	return r.Recorder.Samples()
}

// eventually waits until cond is true of something that gives no sign when it changes.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(waitFor)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			buf := make([]byte, 1<<20)
			t.Fatalf("%s: not within %v\n%s", what, waitFor, buf[:runtime.Stack(buf, true)])
		}
	}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
