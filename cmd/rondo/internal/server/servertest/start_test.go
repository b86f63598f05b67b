// Package servertest tests whole servers: each test starts one and asks it from outside.
package servertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/figures"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// TestMain lets more tests run beside others than there are cores: those that do wait for timers.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen.
const patience = time.Minute

// lines is a log that a test reads while it is written.
type lines struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// A running is a server under test.
type running struct {
	server.Addresses
	log  *lines
	stop func() error // ends it and returns Run's error; may be called twice
}

// start runs a server with c until the test ends.
func start(t *testing.T, c server.Config) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{log: new(lines)}
	if c.DB == "" {
		c.DB = t.TempDir()
	}
	c.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	ready, done := make(chan server.Addresses, 1), make(chan error, 1)
	c.Ready = func(a server.Addresses) { ready <- a }
	go func() { done <- server.Run(ctx, c) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("the server does not end")
		}
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("server: %v\n%s", err, r.log)
		}
	})
	select {
	case r.Addresses = <-ready:
	case err := <-done:
		done <- err
		t.Fatalf("server: %v\n%s", err, r.log)
	case <-time.After(patience):
		t.Fatalf("the server does not become ready\n%s", r.log)
	}
	return r
}

func (r *running) url(path string) string { return "http://" + r.HTTP.String() + path }

var (
	anyPort  = server.Address{Addr: "127.0.0.1:0", Named: true}
	anyPorts = []server.Address{anyPort}
)

// fake is a protocol: every datagram is the path of a series that gets the value 1 at the time of
// the test.
func fake(at rra.Time, check func(receivers.Config) error) receivers.Protocol {
	return receivers.Protocol{
		Name: "fake", Network: "udp", Check: check,
		New: func(c receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
			conn := c.PacketConn
			if conn == nil {
				var err error
				if conn, err = net.ListenPacket("udp", c.Address); err != nil {
					return nil, err
				}
			}
			return &fakeReceiver{conn: conn, sink: sink, at: at}, nil
		},
	}
}

type fakeReceiver struct {
	receivers.Counters
	conn net.PacketConn
	sink receivers.Sink
	at   rra.Time
}

func (f *fakeReceiver) Addr() net.Addr         { return f.conn.LocalAddr() }
func (f *fakeReceiver) Close() error           { return f.conn.Close() }
func (f *fakeReceiver) Stats() receivers.Stats { return f.Counters.Stats() }

func (f *fakeReceiver) Serve(ctx context.Context) error {
	context.AfterFunc(ctx, func() { _ = f.conn.Close() })
	buf := make([]byte, 100)
	for {
		n, _, err := f.conn.ReadFrom(buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.take(string(buf[:n])); err != nil {
			return err
		}
	}
}

func (f *fakeReceiver) take(path string) error {
	f.Packets.Add(1)
	if path == "drop" {
		f.Drop(receivers.Malformed, 1)
		return nil
	}
	reqs := []receivers.Request{{
		Identity: receivers.Identity{Path: path}, Time: f.at,
		Define: func(step int64) *rra.Definition { return receivers.StandardDefinition(step) },
	}}
	if err := f.sink.Resolve(context.Background(), reqs); err != nil {
		return err
	}
	if reqs[0].Err != nil {
		f.Drop(receivers.Limit, 1)
		return nil
	}
	var b core.Batch
	b.Add(reqs[0].Ref, f.at, rra.Float(1))
	p, err := f.sink.Submit(context.Background(), &b)
	if err == nil {
		err = p.Wait()
	}
	if errors.As(err, new(*core.RejectedError)) {
		return nil // sent twice
	}
	return err
}

func send(t *testing.T, to net.Addr, text string) {
	t.Helper()
	c, err := net.Dial("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited for in vain", what)
		}
	}
}

func fakeWays(check func(receivers.Config) error) server.Ways {
	at := rra.TimeOf(time.Now().Truncate(time.Second))
	return server.Ways{Receivers: []server.Receiver{{Protocol: fake(at, check), Address: anyPort}}}
}

// betweenRecords waits until no server stores its own figures for some seconds. They are counted
// like other samples.
func betweenRecords() {
	const step = figures.Step * time.Second
	if left := time.Until(time.Now().Truncate(step).Add(step)); left < 4*time.Second {
		time.Sleep(left + 100*time.Millisecond)
	}
}

// promtool asks Prometheus' own tool about the page.
func promtool(t *testing.T, page string) {
	t.Helper()
	rrdtooltest.Need(t, "promtool")
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s\n%s", err, out, page)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(data)
}
