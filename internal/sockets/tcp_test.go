package sockets_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// waitFor bounds what a test waits for.
const waitFor = time.Minute

// A served TCP calls handle for each connection until the test ends.
type served struct {
	*sockets.TCP
	c    sockets.Traffic
	stop func()
}

func serveTCP(t *testing.T, o sockets.TCPOptions, handle func(ctx context.Context, c *sockets.Conn)) *served {
	t.Helper()
	s := new(served)
	o.Traffic = &s.c
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	var err error
	if s.TCP, err = sockets.ListenTCP(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, handle) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := receive(t, ended); err != nil {
			t.Errorf("serve: %v", err)
		}
		if n := s.c.Connections.Load(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *served) dial(t *testing.T, from string) net.Conn {
	t.Helper()
	var d net.Dialer
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	conn, err := d.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it has served
	return conn
}

// receive returns what comes from c.
func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(waitFor):
		t.Fatalf("nothing comes within %v", waitFor)
	}
	return v
}

// drain reads until the end and returns why it came.
func drain(c *sockets.Conn) error {
	buf := make([]byte, 4096)
	for {
		if _, err := c.Read(buf); err != nil {
			return err
		}
	}
}

// TestTCPPeers: peers are named by address, the lowest free number a connection.
func TestTCPPeers(t *testing.T) {
	peers := make(chan string, 10)
	s := serveTCP(t, sockets.TCPOptions{Address: "0.0.0.0:0"}, func(_ context.Context, c *sockets.Conn) {
		peers <- c.Host + " " + c.Peer
		_ = drain(c) // any end is fine
	})
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dial := func(want string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // it has served
		if got := receive(t, peers); got != "127.0.0.1 "+want {
			t.Errorf("peer %q, want %q", got, want)
		}
		return conn
	}
	left := func(n int64) {
		t.Helper()
		wait(t, func() bool { return s.c.Connections.Load() == n })
	}
	first := dial("127.0.0.1")
	second := dial("127.0.0.1#2")
	dial("127.0.0.1#3")
	_ = second.Close()
	left(2)
	dial("127.0.0.1#2")
	_ = first.Close()
	left(2)
	dial("127.0.0.1")
	dial("127.0.0.1#4")
}

// wait waits until cond is true of something that gives no sign.
func wait(t *testing.T, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(waitFor); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v", waitFor)
		}
	}
}

// TestTCPRefuses: one connection too many, of an address or of all, gets a message and is closed;
// the others stay.
func TestTCPRefuses(t *testing.T) {
	var log bytes.Buffer
	taken := make(chan string, 10)
	s := serveTCP(t, sockets.TCPOptions{
		Conns: 3, HostConns: 2, Farewell: []byte("bye"), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, func(_ context.Context, c *sockets.Conn) {
		taken <- c.Peer
		_ = drain(c) // any end is fine
	})
	taking := func(from, want string) net.Conn {
		t.Helper()
		conn := s.dial(t, from)
		if got := receive(t, taken); got != want {
			t.Errorf("peer %q, want %q", got, want)
		}
		return conn
	}
	refused := func(from string) {
		t.Helper()
		conn := s.dial(t, from)
		if got, err := io.ReadAll(conn); err != nil || string(got) != "bye" {
			t.Errorf("refused with %q, %v", got, err)
		}
	}
	taking("127.0.0.1", "127.0.0.1")
	second := taking("127.0.0.1", "127.0.0.1#2")
	refused("127.0.0.1")
	refused("127.0.0.1")
	taking("127.0.0.2", "127.0.0.2")
	refused("127.0.0.3")
	_ = second.Close()
	wait(t, func() bool { return s.c.Connections.Load() == 2 })
	taking("127.0.0.3", "127.0.0.3")
	refused("127.0.0.1")
	s.stop()
	if n := s.c.Refused.Load(); n != 4 {
		t.Errorf("%d refused, want 4", n)
	}
	if n := strings.Count(log.String(), "too many connections"); n != 2 {
		t.Errorf("%d lines, want one a source:\n%s", n, log.String())
	}
}

// TestTCPIdle: a silent peer ends a Read, one that sends does not.
func TestTCPIdle(t *testing.T) {
	ends := make(chan error, 1)
	s := serveTCP(t, sockets.TCPOptions{Idle: 20 * time.Millisecond}, func(_ context.Context, c *sockets.Conn) {
		ends <- drain(c)
	})
	s.dial(t, "")
	if err := receive(t, ends); !errors.Is(err, sockets.ErrIdle) {
		t.Errorf("read ends with %v, want %v", err, sockets.ErrIdle)
	}
	forever := serveTCP(t, sockets.TCPOptions{Idle: -1}, func(_ context.Context, c *sockets.Conn) {
		ends <- drain(c)
	})
	conn := forever.dial(t, "")
	if _, err := conn.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return forever.c.Bytes.Load() == 100 })
	forever.stop()
	if err := receive(t, ends); !errors.Is(err, context.Canceled) {
		t.Errorf("read ends with %v, want %v", err, context.Canceled)
	}
}

// TestTCPYields: connections that nobody used kept every new one out, for ten minutes each.
func TestTCPYields(t *testing.T) {
	var log bytes.Buffer
	taken, ends := make(chan string, 10), make(chan error, 10)
	s := serveTCP(t, sockets.TCPOptions{
		HostConns: 1, Yield: time.Nanosecond, Farewell: []byte("bye"), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, func(_ context.Context, c *sockets.Conn) {
		taken <- c.Peer
		ends <- drain(c)
	})
	s.dial(t, "")
	receive(t, taken)
	peer := ""
	for peer == "" { // until the first one is seen to be silent
		young, refused := s.dial(t, ""), make(chan string, 1)
		go func() {
			got, _ := io.ReadAll(young) // ends with the connection
			refused <- string(got)
		}()
		select {
		case peer = <-taken:
		case got := <-refused:
			if got != "bye" {
				t.Fatalf("refused with %q", got)
			}
		case <-time.After(waitFor):
			t.Fatal("a connection is neither taken nor refused")
		}
	}
	if err := receive(t, ends); !errors.Is(err, sockets.ErrYielded) || !errors.Is(err, sockets.ErrIdle) {
		t.Errorf("read ends with %v, want %v", err, sockets.ErrYielded)
	}
	if got := peer; got != "127.0.0.1" {
		t.Errorf("peer %q, want the first one's name", got)
	}
	s.stop()
	if !strings.Contains(log.String(), "too many connections") {
		t.Errorf("the log says nothing:\n%s", log.String())
	}
}

// TestTCPReadsWhatHasArrived: what a peer has sent before the end is read, whenever the reader
// comes to it.
func TestTCPReadsWhatHasArrived(t *testing.T) {
	begun, ended := make(chan bool), make(chan error, 1)
	s := serveTCP(t, sockets.TCPOptions{}, func(ctx context.Context, c *sockets.Conn) {
		if _, err := c.Read(make([]byte, 1)); err != nil { // one write of the peer: with its first byte, all of it is here
			t.Errorf("read: %v", err)
		}
		begun <- true
		<-ctx.Done()
		ended <- drain(c)
	})
	conn := s.dial(t, "")
	if _, err := conn.Write(make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
	receive(t, begun)
	s.stop()
	if err := receive(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("read ends with %v, want %v", err, context.Canceled)
	}
	if n := s.c.Bytes.Load(); n != 10_000 {
		t.Errorf("%d bytes read, want 10000", n)
	}
}

// TestTCPStops: neither a peer that never stops sending nor one that never reads keeps Serve from
// its end.
func TestTCPStops(t *testing.T) {
	reads, writes := make(chan error, 1), make(chan error, 1)
	s := serveTCP(t, sockets.TCPOptions{}, func(_ context.Context, c *sockets.Conn) {
		first := make([]byte, 1)
		if _, err := c.Read(first); err != nil {
			t.Errorf("read: %v", err)
		}
		if first[0] == 'r' {
			reads <- drain(c)
			return
		}
		for b := make([]byte, 1<<20); ; {
			if _, err := c.Write(b); err != nil {
				writes <- err
				return
			}
		}
	})
	sends := s.dial(t, "")
	var sending sync.WaitGroup
	sending.Go(func() {
		for b := bytes.Repeat([]byte("r"), 4096); ; {
			if _, err := sends.Write(b); err != nil {
				return
			}
		}
	})
	silent := s.dial(t, "")
	if _, err := silent.Write([]byte("w")); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return s.c.Connections.Load() == 2 && s.c.Bytes.Load() > 100_000 })
	s.stop()
	sending.Wait()
	if err := receive(t, reads); !errors.Is(err, context.Canceled) {
		t.Errorf("read ends with %v, want %v", err, context.Canceled)
	}
	if err := receive(t, writes); !errors.Is(err, sockets.ErrStalled) {
		t.Errorf("write ends with %v, want %v", err, sockets.ErrStalled)
	}
}

// TestTCPWriteEnds: a write to a peer that does not read ends after its time.
func TestTCPWriteEnds(t *testing.T) {
	writes := make(chan error, 1)
	s := serveTCP(t, sockets.TCPOptions{WriteTime: 20 * time.Millisecond}, func(_ context.Context, c *sockets.Conn) {
		for b := make([]byte, 1<<20); ; {
			if _, err := c.Write(b); err != nil {
				writes <- err
				return
			}
		}
	})
	s.dial(t, "")
	if err := receive(t, writes); !errors.Is(err, sockets.ErrStalled) {
		t.Errorf("write ends with %v, want %v", err, sockets.ErrStalled)
	}
}

// A flaky listener fails a few times before each connection, and in the end for good.
type flaky struct {
	net.Listener
	fails int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("out of files")
	}
	return f.Listener.Accept()
}

// TestTCPAccept: an error that passes is waited out, a socket that was closed is the end.
func TestTCPAccept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := sockets.ListenTCP(sockets.TCPOptions{Listener: &flaky{l, 3}})
	if err != nil {
		t.Fatal(err)
	}
	ended, taken := make(chan error, 1), make(chan bool, 1)
	go func() {
		ended <- tcp.Serve(t.Context(), func(context.Context, *sockets.Conn) { taken <- true })
	}()
	conn, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // it has served
	receive(t, taken)
	if err := tcp.Close(); err != nil {
		t.Error(err)
	}
	if err := receive(t, ended); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("serve ends with %v, want one that says the socket is closed", err)
	}
	if err := tcp.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
