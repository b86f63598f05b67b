package receivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
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
	site   *site // of a receiver over HTTP
}

// Patient lets a receiver wait for a store on a busy machine.
func Patient(c *receivers.Config) { c.Patience = time.Minute }

// Start makes a receiver of c, whose configuration change may alter, and serves into rec. When the
// test ends the receiver is stopped, and the test fails if it leaves a goroutine behind.
func Start(t testing.TB, c Case, rec *Recorder, change func(*receivers.Config)) *Running {
	t.Helper()
	// The goroutines that a receiver starts inherit this label, by which they are recognised.
	id := fmt.Sprintf("%s %d", t.Name(), started.Add(1))
	labels := pprof.Labels(labelKey, id)
	cfg := receivers.Config{
		Address: c.Address,
		Options: c.Options,
		Now:     func() time.Time { return time.Unix(Now, 0) },
		// A test that stalls the sink does so on purpose: do not wait long for it.
		Patience: 100 * time.Millisecond,
		Gather:   -1,
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
	var web *site
	if c.Protocol.Network == receivers.HTTP {
		web = newSite(t)
		cfg.Address = web.listener.Addr().String()
	}
	var r receivers.Receiver
	var err error
	pprof.Do(context.Background(), labels, func(context.Context) { r, err = c.Protocol.New(cfg, rec) })
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &Running{Receiver: r, Recorder: rec, t: t, c: c, cancel: cancel, err: make(chan error, 1), site: web}
	if web != nil {
		web.serve(t, c.Protocol, r)
	}
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

// labelled reports whether a goroutine with the label id runs.
func labelled(t testing.TB, id string) bool {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(b.String(), fmt.Sprintf("%q:%q", labelKey, id))
}

// Stop ends Serve and waits until it returns. It may be called more than once.
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

// Send sends messages to the receiver, over one connection or as the Case delivers them. A receiver
// over HTTP must answer each with success.
func (r *Running) Send(messages ...[]byte) {
	r.t.Helper()
	if r.site != nil {
		for _, m := range messages {
			if a := r.Ask(m); a.Status/100 != 2 {
				r.t.Fatalf("the answer is %d %s, want success", a.Status, a.Text)
			}
		}
		return
	}
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

// Dial opens one more connection to the receiver and sends nothing over it. The connection is
// closed when the test ends.
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

// hangUp closes the connection of Send, and waits until no peer is connected.
func (r *Running) hangUp() {
	r.t.Helper()
	if r.conn != nil {
		_ = r.conn.Close() // what was to be sent has been
		r.conn = nil
	}
	eventually(r.t, "no peer is connected", func() bool { return r.Stats().Connections == 0 })
}

// garbage sends m over a connection of its own, which the receiver may close at any time.
func (r *Running) garbage(m []byte, opened bool) {
	r.t.Helper()
	r.hangUp()
	conn := r.Dial()
	eventually(r.t, "it is taken", func() bool { return r.Stats().Connections == 1 })
	if opened {
		m = append(slices.Clone(r.c.Opening), m...)
	}
	_, _ = conn.Write(m) // the receiver may be faster
	_ = conn.Close()
	r.hangUp()
}

// untilClosed waits until the receiver has closed conn.
func untilClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(waitFor)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection is not closed within %v", waitFor)
	}
}
