package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/wal"
	log "github.com/rondo-db/rondo/wal/jetstream"
	"github.com/rondo-db/rondo/wal/stream"
)

// giveUp is how long a test waits for what takes some seconds.
const giveUp = 90 * time.Second

// write appends n records behind those that are there, and waits until they are durable.
func write(t *testing.T, l *stream.Log, n int) {
	t.Helper()
	for range n {
		if _, err := l.Enqueue(fmt.Append(nil, "record")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	if _, err := l.Barrier(ctx); err != nil {
		t.Fatalf("%d records: %v", n, err)
	}
}

var errEnough = errors.New("that was the last record")

// readTo reads a log from its beginning up to a position.
func readTo(t *testing.T, r *stream.Reader, last wal.Pos) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	at := wal.Pos(0)
	err := r.Tail(ctx, 1, func(p wal.Pos, _ []byte) error {
		if at = p; p == last {
			return errEnough
		}
		return nil
	})
	if err != errEnough {
		t.Fatalf("at record %d of %d: %v", at, last, err)
	}
}

// TestServerAlone: a server was started again and does not find the others, because their addresses
// have changed, say. A process that connects to it stayed with it, and neither read nor wrote.
func TestServerAlone(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	o := options{Stream: "log", Options: log.Options{URL: c.Nodes[0].URL + "," + c.Nodes[1].URL, Monitor: c.Monitors(), MaxBytes: 64 << 20}}
	l := openAmong(t, o)
	write(t, l, 10)
	c.Nodes[2].Kill()
	if c.Nodes[2] = c.Alone[2](); c.Nodes[2] == nil {
		t.Fatal("a killed server does not start again")
	}
	write(t, l, 10)
	o.URL, o.Monitor, o.Connect = c.Nodes[2].URL+","+o.URL, c.Monitors(), []nats.Option{nats.DontRandomize()}
	conn, err := log.Connect(o.Options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	try := func(what string, fn func(ctx context.Context) error) {
		t.Helper()
		for deadline := time.Now().Add(giveUp); ; time.Sleep(100 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			err := fn(ctx)
			cancel()
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	try("read", func(ctx context.Context) error {
		r, err := conn.OpenReader(ctx, o.Stream, stream.ReaderOptions{})
		if err == nil {
			readTo(t, r, 20)
			err = r.Close()
		}
		return err
	})
	try("write", func(ctx context.Context) error {
		l, err := conn.Open(ctx, o.Stream, stream.Options{})
		if err == nil {
			write(t, l, 10)
			err = l.Close()
		}
		return err
	})
}

// serverHangs: a server that takes connections and answers nothing was kept for minutes, until the
// client noticed that its pings are not answered.
func serverHangs(t *testing.T, c *natstest.Cluster) {
	o := options{Stream: "hangs", Options: log.Options{URL: c.URLs(), Monitor: c.Monitors(), MaxBytes: 64 << 20}}
	openAmong(t, o) // all servers are ready
	i := (leader(t, c, o.Stream) + 1) % 3
	o.URL, o.Connect = c.Nodes[i].URL+","+c.URLs(), []nats.Option{nats.DontRandomize()}
	conn, err := log.Connect(o.Options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	l, err := conn.Open(t.Context(), o.Stream, stream.Options{Patience: giveUp, Retry: giveUp})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it was written what counts
	write(t, l, 10)
	r, err := conn.OpenReader(t.Context(), o.Stream, stream.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Nodes[i].Stop(t)
	write(t, l, 10)
	readTo(t, r, 20)
}

// TestAsksAgain: a stream that has no leader answers nothing. Whoever opened it then waited for the
// answer for as long as it had, though the stream soon had a leader.
func TestAsksAgain(t *testing.T) {
	t.Parallel() // most of it is waiting
	n := natstest.Start(t, t.TempDir(), "n1", "127.0.0.1:-1", "")
	if n == nil {
		t.Fatal("nats-server ended by itself")
	}
	nc, err := nats.Connect(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	info, err := json.Marshal(jetstream.StreamInfo{Config: jetstream.StreamConfig{
		Name: "log", Subjects: []string{"rondo.log.log"}, MaxBytes: 1 << 20, Discard: jetstream.DiscardNew,
		AllowDirect: true, DenyDelete: true, Duplicates: 2 * time.Minute, Replicas: 1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	_, err = nc.Subscribe("$JS.API.STREAM.INFO.log", func(m *nats.Msg) {
		if asked++; asked > 1 {
			_ = m.Respond(info) // it fails if the test has ended
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := openReader(t, options{Stream: "log", Options: log.Options{URL: n.URL, AcceptFewerReplicas: true}}, stream.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
