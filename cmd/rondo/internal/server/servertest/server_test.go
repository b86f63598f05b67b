package servertest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

func TestMetrics(t *testing.T) {
	betweenRecords()
	r := start(t, server.Config{HTTP: anyPorts, Ways: fakeWays(nil), Version: `1.0"quoted"`})
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

func TestNamedPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir := filepath.Join(t.TempDir(), "db")
	err = server.Run(t.Context(), server.Config{DB: dir, HTTP: []server.Address{{Addr: l.Addr().String(), Named: true}}})
	if err == nil || !strings.Contains(err.Error(), "--http "+l.Addr().String()) {
		t.Errorf("got %v, want an error that names --http and its address", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	r := start(t, server.Config{HTTP: []server.Address{{Addr: l.Addr().String()}}, Ways: fakeWays(nil)})
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
	ways.Receivers[0].Address = server.Address{Addr: c.LocalAddr().String()}
	config := server.Config{
		DB: dir, HTTP: []server.Address{{Addr: l.Addr().String()}}, Ways: ways,
		RRDCached: server.RRDCached{Addresses: []rrdcached.Address{{Network: "unix", Addr: filepath.Join(dir, "rrdcached.sock")}}},
		Ready:     func(server.Addresses) { t.Error("the server is ready") },
	}
	err = server.Run(t.Context(), config)
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
	start(t, server.Config{})
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
		r := start(t, server.Config{HTTP: anyPorts, Ways: server.Ways{Receivers: []server.Receiver{{Protocol: p, Address: server.Address{Addr: c.LocalAddr().String()}}}}})
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
	err = server.Run(t.Context(), server.Config{DB: t.TempDir(), Ways: ways})
	if err == nil || !strings.Contains(err.Error(), "--fake "+c.LocalAddr().String()) {
		t.Errorf("got %v, want an error that names --fake and its address", err)
	}
}

func TestBeyondLoopbackIsWarnedOf(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts})
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
		r := start(t, server.Config{Ways: ways})
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
	start(t, server.Config{DB: dir, Engine: core.Options{Owner: "the first server"}})
	err := server.Run(t.Context(), server.Config{DB: dir})
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
	t.Setenv("NOTIFY_SOCKET", name)
	t.Setenv("WATCHDOG_USEC", "20000")
	reload := make(chan server.Ways)
	r := start(t, server.Config{Reload: reload})
	receive("READY=1")
	receive("WATCHDOG=1")
	reload <- server.Ways{}
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
	reload := make(chan server.Ways)
	r := start(t, server.Config{HTTP: anyPorts, Ways: ways, Reload: reload})
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
	eventually(t, "the log names the reload", func() bool { return strings.Contains(r.log.String(), "configuration read again") })
	send(t, r.Receivers["fake"], "kept")
	eventually(t, "the series after the reload is there", hasSeries("kept"))

	// Settings that are wrong leave the receiver as it is.
	mu.Lock()
	bad = true
	mu.Unlock()
	reload <- ways
	eventually(t, "the log names the reload", func() bool { return strings.Contains(r.log.String(), "the password file has gone") })
	send(t, r.Receivers["fake"], "two")
	eventually(t, "the second series is there", hasSeries("two"))
	eventually(t, "the log names who did not take it", func() bool {
		return strings.Contains(r.log.String(), `not taken by all receivers" not_by=fake`)
	})
	if n := strings.Count(r.log.String(), `msg="configuration read again"`); n != 1 {
		t.Errorf("the log says of %d reloads that they were taken; want 1:\n%s", n, r.log)
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
	next := server.Ways{Receivers: []server.Receiver{ways.Receivers[0]}}
	next.Receivers[0].Address.Addr = to.String()
	reload <- next
	eventually(t, "the third series is there", func() bool {
		send(t, to, "three") // lost, while nobody listens there yet
		return hasSeries("three")()
	})

	// So is that one is not listened on any more.
	off := server.Ways{Receivers: []server.Receiver{next.Receivers[0]}}
	off.Receivers[0].Address.Addr = ""
	reload <- off
	eventually(t, "the receiver is off, and the log says so", func() bool {
		return strings.Contains(r.log.String(), `msg="no longer listening" for=fake`)
	})
}

// TestBackups: a server with a folder for backups makes one at once, and logs it.
func TestBackups(t *testing.T) {
	dir := t.TempDir()
	r := start(t, server.Config{HTTP: anyPorts, Ways: fakeWays(nil), Backups: backups.Options{Dir: dir, Every: time.Hour, Keep: 1}})
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
