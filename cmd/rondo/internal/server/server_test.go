package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/figures"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

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
	Addresses
	log  *lines
	stop func() error // ends it and returns Run's error; may be called twice
}

// start runs a server with c until the test ends.
func start(t *testing.T, c Config) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{log: new(lines)}
	if c.DB == "" {
		c.DB = t.TempDir()
	}
	c.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	ready, done := make(chan Addresses, 1), make(chan error, 1)
	c.Ready = func(a Addresses) { ready <- a }
	go func() { done <- Run(ctx, c) }()
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
	anyPort  = Address{Addr: "127.0.0.1:0", Named: true}
	anyPorts = []Address{anyPort}
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

func fakeWays(check func(receivers.Config) error) Ways {
	at := rra.TimeOf(time.Now().Truncate(time.Second))
	return Ways{Receivers: []Receiver{{Protocol: fake(at, check), Address: anyPort}}}
}

// betweenRecords waits until no server stores its own figures for some seconds. They are counted
// like other samples.
func betweenRecords() {
	const step = figures.Step * time.Second
	if left := time.Until(time.Now().Truncate(step).Add(step)); left < 4*time.Second {
		time.Sleep(left + 100*time.Millisecond)
	}
}

func TestMetrics(t *testing.T) {
	betweenRecords()
	r := start(t, Config{HTTP: anyPorts, Ways: fakeWays(nil), Version: `1.0"quoted"`})
	send(t, r.Receivers["fake"], "one")
	send(t, r.Receivers["fake"], "drop")
	var page string
	eventually(t, "the sample and the drop are counted", func() bool {
		_, page = get(t, r.url("/metrics"))
		return strings.Contains(page, "\nrondo_samples_accepted_total 1\n") &&
			strings.Contains(page, `rondo_receiver_dropped_total{receiver="fake",reason="malformed"} 1`)
	})
	if code, body := get(t, r.url("/status")); code != 200 || !strings.Contains(body, "fake at") {
		t.Errorf("page: %d\n%s", code, body)
	}
	if code, _ := get(t, r.url("/nosuch")); code != 404 {
		t.Errorf("an unknown page: %d", code)
	}
	promtool(t, page)
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

func TestNamedPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir := filepath.Join(t.TempDir(), "db")
	err = Run(t.Context(), Config{DB: dir, HTTP: []Address{{Addr: l.Addr().String(), Named: true}}})
	if err == nil || !strings.Contains(err.Error(), "--http "+l.Addr().String()) {
		t.Errorf("got %v, want an error that names --http and its address", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	r := start(t, Config{HTTP: []Address{{Addr: l.Addr().String()}}, Ways: fakeWays(nil)})
	if r.HTTP != nil || !strings.Contains(r.log.String(), "level=WARN") {
		t.Errorf("a default port that is taken is no warning: listening at %v\n%s", r.HTTP, r.log)
	}
}

// TestNothingListens: with all default ports taken the server warned five times and said that it
// was ready.
func TestNothingListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	dir := filepath.Join(t.TempDir(), "db")
	ways := fakeWays(nil)
	ways.Receivers[0].Address = Address{Addr: c.LocalAddr().String()}
	config := Config{
		DB: dir, HTTP: []Address{{Addr: l.Addr().String()}}, Ways: ways,
		RRDCached: RRDCached{Addresses: []rrdcached.Address{{Network: "unix", Addr: filepath.Join(dir, "rrdcached.sock")}}},
		Ready:     func(Addresses) { t.Error("the server is ready") },
	}
	err = Run(t.Context(), config)
	for _, want := range []string{"--http " + l.Addr().String(), "--fake " + c.LocalAddr().String(), "another server"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("an empty database was left, which commands would find: %v", err)
	}
	// One way in is enough: a warning for the other.
	config.HTTP, config.Ready = anyPorts, nil
	r := start(t, config)
	if !strings.Contains(r.log.String(), "level=WARN") {
		t.Errorf("no warning:\n%s", r.log)
	}
	// Who turned everything off meant it.
	start(t, Config{})
}

// TestDefaultReceiverTaken: a receiver that has files to read goes on without its default port.
func TestDefaultReceiverTaken(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, files := range []bool{false, true} {
		p := fake(rra.TimeOf(time.Now().Truncate(time.Second)), nil)
		var asked []string
		make := p.New
		p.Enabled = func(receivers.Config) bool { return files }
		p.New = func(c receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
			asked = append(asked, c.Address)
			if c.Address == "" {
				c.Address = "127.0.0.1:0" // the fake has no files
			}
			return make(c, sink)
		}
		r := start(t, Config{HTTP: anyPorts, Ways: Ways{Receivers: []Receiver{{Protocol: p, Address: Address{Addr: c.LocalAddr().String()}}}}})
		want := []string{c.LocalAddr().String()}
		if files {
			want = append(want, "")
		}
		if !slices.Equal(asked, want) || (r.Receivers["fake"] != nil) != files || !strings.Contains(r.log.String(), "level=WARN") {
			t.Errorf("files %v: opened at %q, want %q; receives: %v\n%s", files, asked, want, r.Receivers, r.log)
		}
	}
}

func TestNamedReceiverTaken(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ways := fakeWays(nil)
	ways.Receivers[0].Address.Addr = c.LocalAddr().String()
	err = Run(t.Context(), Config{DB: t.TempDir(), Ways: ways})
	if err == nil || !strings.Contains(err.Error(), "--fake "+c.LocalAddr().String()) {
		t.Errorf("got %v, want an error that names --fake and its address", err)
	}
}

func TestBeyondLoopbackIsWarnedOf(t *testing.T) {
	r := start(t, Config{HTTP: anyPorts})
	if strings.Contains(r.log.String(), "level=WARN") {
		t.Errorf("warned of loopback:\n%s", r.log)
	}
	for _, tt := range []struct {
		addr net.Addr
		want bool
	}{
		{&net.TCPAddr{IP: net.IPv4zero}, true},
		{&net.UDPAddr{IP: net.IPv6unspecified}, true},
		{&net.UDPAddr{IP: net.ParseIP("239.192.74.66")}, true},
		{&net.TCPAddr{IP: net.IPv6loopback}, false},
		{&net.UDPAddr{IP: net.ParseIP("127.1.2.3")}, false},
		{&net.UnixAddr{}, false},
	} {
		if got := middleware.BeyondLoopback(tt.addr); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.addr, got, tt.want)
		}
	}
}

// TestSecuredIsNotWarnedOf: the line of the README that demands signatures was followed by a
// warning of no authentication.
func TestSecuredIsNotWarnedOf(t *testing.T) {
	for _, secured := range []bool{false, true} {
		ways := fakeWays(nil)
		ways.Receivers[0].Address.Addr = "0.0.0.0:0"
		ways.Receivers[0].Protocol.Secured = func(receivers.Config) bool { return secured }
		r := start(t, Config{Ways: ways})
		if warned := strings.Contains(r.log.String(), "without authentication"); warned == secured {
			t.Errorf("secured %v, warned %v:\n%s", secured, warned, r.log)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestSecondServerIsToldWhoHoldsTheDatabase(t *testing.T) {
	dir := t.TempDir()
	start(t, Config{DB: dir, Engine: core.Options{Owner: "the first server"}})
	err := Run(t.Context(), Config{DB: dir})
	if !errors.Is(err, core.ErrLocked) || !strings.Contains(err.Error(), "the first server") {
		t.Errorf("got %v, want who holds the lock", err)
	}
	if _, err := os.Stat(filepath.Join(dir, rpc.SocketName)); err != nil {
		t.Errorf("the socket of the first server: %v", err)
	}
}

func TestSystemd(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	receive := func(want string) {
		t.Helper()
		buf := make([]byte, 200)
		for {
			n, err := c.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if got := string(buf[:n]); strings.HasPrefix(got, want) {
				return
			} else if got != "WATCHDOG=1" {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
	env := map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "20000"}
	reload := make(chan Ways)
	r := start(t, Config{Getenv: func(k string) string { return env[k] }, Reload: reload})
	receive("READY=1")
	receive("WATCHDOG=1")
	reload <- Ways{}
	receive("RELOADING=1\nMONOTONIC_USEC=")
	receive("READY=1")
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	receive("STOPPING=1")
}

func TestReload(t *testing.T) {
	var mu sync.Mutex
	bad := false
	check := func(receivers.Config) error {
		mu.Lock()
		defer mu.Unlock()
		if bad {
			return errors.New("the password file has gone")
		}
		return nil
	}
	ways := fakeWays(check)
	reload := make(chan Ways)
	r := start(t, Config{HTTP: anyPorts, Ways: ways, Reload: reload})
	send(t, r.Receivers["fake"], "one")
	hasSeries := func(name string) func() bool {
		return func() bool {
			code, _ := post(t, r.url("/rondo.v1.Rondo/Info"), fmt.Sprintf(`{"path":%q}`, name))
			return code == 200
		}
	}
	eventually(t, "the first series is there", hasSeries("one"))

	// The same settings leave the receiver at its port, and its counters as they were.
	reload <- ways
	eventually(t, "the reload is told of", func() bool { return strings.Contains(r.log.String(), "configuration read again") })
	send(t, r.Receivers["fake"], "kept")
	eventually(t, "the series after the reload is there", hasSeries("kept"))

	// Settings that are wrong leave the receiver as it is.
	mu.Lock()
	bad = true
	mu.Unlock()
	reload <- ways
	eventually(t, "the reload is told of", func() bool { return strings.Contains(r.log.String(), "the password file has gone") })
	send(t, r.Receivers["fake"], "two")
	eventually(t, "the second series is there", hasSeries("two"))
	eventually(t, "who did not take it is told", func() bool {
		return strings.Contains(r.log.String(), `not taken by all receivers" not_by=fake`)
	})
	if n := strings.Count(r.log.String(), `msg="configuration read again"`); n != 1 {
		t.Errorf("%d reloads are told as taken, want 1:\n%s", n, r.log)
	}

	// A new address is listened on.
	mu.Lock()
	bad = false
	mu.Unlock()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := c.LocalAddr()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	next := Ways{Receivers: []Receiver{ways.Receivers[0]}}
	next.Receivers[0].Address.Addr = to.String()
	reload <- next
	eventually(t, "the third series is there", func() bool {
		send(t, to, "three") // lost, while nobody listens there yet
		return hasSeries("three")()
	})

	// So is that one is not listened on any more.
	off := Ways{Receivers: []Receiver{next.Receivers[0]}}
	off.Receivers[0].Address.Addr = ""
	reload <- off
	eventually(t, "the receiver is off, and the log says so", func() bool {
		return strings.Contains(r.log.String(), `msg="no longer listening" for=fake`)
	})
}

// TestBackups: a server with a folder for backups makes one at once, and logs it.
func TestBackups(t *testing.T) {
	dir := t.TempDir()
	r := start(t, Config{HTTP: anyPorts, Ways: fakeWays(nil), Backups: Backups{Dir: dir, Every: time.Hour, Keep: 1}})
	eventually(t, "a backup is made", func() bool { return metric(t, r, "rondo_backups_total") == 1 })
	files, err := filepath.Glob(filepath.Join(dir, "rondo-*Z.zst"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := core.VerifyBackup(t.Context(), f); err != nil {
		t.Error(err)
	}
}
