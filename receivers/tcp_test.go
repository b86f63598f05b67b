package receivers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// waitFor bounds what a test waits for.
const waitFor = 20 * time.Second

// A lines receiver takes a line of text a sample, "SECOND VALUE": as little as a protocol over TCP can be.
type lines struct {
	receivers.Counters
	cfg   receivers.Config
	sink  receivers.Sink
	tcp   *receivers.TCP
	queue *receivers.SharedQueue
}

var linesProtocol = receivers.Protocol{
	Name: "lines", Network: "tcp", Flags: []receivers.Flag{flagConns, flagHostConns, flagIdle}, New: newLines,
}

var (
	flagConns     = receivers.Flag{Name: "lines-conns", Default: "0"}
	flagHostConns = receivers.Flag{Name: "lines-host-conns", Default: "0"}
	flagIdle      = receivers.Flag{Name: "lines-idle", Default: "0s"}
)

// maxLine bounds a line, and the opening one.
const maxLine = 64

func newLines(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	cfg = cfg.WithDefaults()
	l := &lines{cfg: cfg, sink: sink}
	o := receivers.TCPOptions{Address: cfg.Address, Counters: &l.Counters, Logger: cfg.Logger, Farewell: []byte("bye\n")}
	var err1, err2, err3, err4 error
	o.Conns, err1 = strconv.Atoi(cfg.Option(flagConns))
	o.HostConns, err2 = strconv.Atoi(cfg.Option(flagHostConns))
	o.Idle, err3 = time.ParseDuration(cfg.Option(flagIdle))
	l.tcp, err4 = receivers.ListenTCP(o)
	return l, errors.Join(err1, err2, err3, err4)
}

func (l *lines) Addr() net.Addr { return l.tcp.Addr() }
func (l *lines) Close() error   { return l.tcp.Close() }

func (l *lines) Serve(ctx context.Context) error {
	l.queue = receivers.NewSharedQueue(l.sink, &l.Counters, l.cfg)
	defer l.queue.Stop()
	return l.tcp.Serve(ctx, l.handle)
}

func (l *lines) handle(_ context.Context, c *receivers.Conn) {
	buf := make([]byte, 0, maxLine)
	for {
		n, err := c.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for {
			line, rest, ok := bytes.Cut(buf, []byte("\n"))
			if !ok {
				break
			}
			l.Packets.Add(1)
			if err := l.line(c, string(line)); err != nil {
				l.Drop(receivers.Malformed, 1)
				return
			}
			buf = buf[:copy(buf, rest)]
		}
		if err != nil {
			return
		}
		if len(buf) == cap(buf) {
			l.Drop(receivers.Limit, 1)
			return
		}
	}
}

func (l *lines) line(c *receivers.Conn, line string) error {
	if line == "hello" {
		return nil
	}
	var at, value int64
	if _, err := fmt.Sscanf(line, "%d %d", &at, &value); err != nil {
		return err
	}
	reqs := []receivers.Request{{
		Identity: receivers.Identity{Path: "lines/" + c.Peer}, Sender: c.Host, Time: rra.Seconds(at), Define: receivers.StandardDefinition,
	}}
	if err := l.sink.Resolve(context.Background(), reqs); err != nil {
		return err
	}
	if reqs[0].Err != nil {
		l.Drop(receivers.Limit, 1)
		return nil
	}
	l.queue.Do(func(q *receivers.Queue) { q.Add(reqs[0].Ref, rra.Seconds(at), []rra.Value{rra.Int(value)}) })
	return nil
}

// TestTCPSuite: the suite holds of a receiver over TCP that does what the contract says.
func TestTCPSuite(t *testing.T) {
	receivertest.Run(t, receivertest.Case{
		Protocol: linesProtocol,
		Opening:  []byte("hello\n"),
		Message:  func(n int) []byte { return fmt.Appendf(nil, "%d %d\n", receivertest.Epoch+n, n) },
		Garbage:  [][]byte{[]byte("x\n"), []byte("1 2 3\n"), bytes.Repeat([]byte("9"), 100), []byte("hello\nhello")},
		Greedy:   [][]byte{nil, []byte("hello\n17")},
		Limits:   receivertest.ConnLimits{Conns: flagConns.Name, HostConns: flagHostConns.Name, Idle: flagIdle.Name},
	})
}

// A served TCP calls handle for each connection until the test ends.
type served struct {
	*receivers.TCP
	c    receivers.Counters
	stop func()
}

func serveTCP(t *testing.T, o receivers.TCPOptions, handle func(ctx context.Context, c *receivers.Conn)) *served {
	t.Helper()
	s := new(served)
	o.Counters = &s.c
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	var err error
	if s.TCP, err = receivers.ListenTCP(o); err != nil {
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
func drain(c *receivers.Conn) error {
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
	s := serveTCP(t, receivers.TCPOptions{Address: "0.0.0.0:0"}, func(_ context.Context, c *receivers.Conn) {
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

// TestTCPRefuses: one connection too many, of an address or of all, is told so and closed; the others stay.
func TestTCPRefuses(t *testing.T) {
	var log bytes.Buffer
	taken := make(chan string, 10)
	s := serveTCP(t, receivers.TCPOptions{
		Conns: 3, HostConns: 2, Farewell: []byte("bye"), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, func(_ context.Context, c *receivers.Conn) {
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
	if n := s.c.Stats().Dropped[receivers.Limit]; n != 4 {
		t.Errorf("%d refused, want 4", n)
	}
	if n := strings.Count(log.String(), "too many connections"); n != 2 {
		t.Errorf("%d lines, want one a source:\n%s", n, log.String())
	}
}

// TestTCPIdle: a silent peer ends a Read, one that sends does not.
func TestTCPIdle(t *testing.T) {
	ends := make(chan error, 1)
	s := serveTCP(t, receivers.TCPOptions{Idle: 20 * time.Millisecond}, func(_ context.Context, c *receivers.Conn) {
		ends <- drain(c)
	})
	s.dial(t, "")
	if err := receive(t, ends); !errors.Is(err, receivers.ErrIdle) {
		t.Errorf("read ends with %v, want %v", err, receivers.ErrIdle)
	}
	forever := serveTCP(t, receivers.TCPOptions{Idle: -1}, func(_ context.Context, c *receivers.Conn) {
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

// TestTCPReadsWhatHasArrived: what a peer has sent before the end is read, whenever the reader comes to it.
func TestTCPReadsWhatHasArrived(t *testing.T) {
	begun, ended := make(chan bool), make(chan error, 1)
	s := serveTCP(t, receivers.TCPOptions{}, func(ctx context.Context, c *receivers.Conn) {
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

// TestTCPStops: neither a peer that never stops sending nor one that never reads keeps Serve from its end.
func TestTCPStops(t *testing.T) {
	reads, writes := make(chan error, 1), make(chan error, 1)
	s := serveTCP(t, receivers.TCPOptions{}, func(_ context.Context, c *receivers.Conn) {
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
	if err := receive(t, writes); !errors.Is(err, receivers.ErrStalled) {
		t.Errorf("write ends with %v, want %v", err, receivers.ErrStalled)
	}
}

// TestTCPWriteEnds: a write to a peer that does not read ends after its time.
func TestTCPWriteEnds(t *testing.T) {
	writes := make(chan error, 1)
	s := serveTCP(t, receivers.TCPOptions{WriteTime: 20 * time.Millisecond}, func(_ context.Context, c *receivers.Conn) {
		for b := make([]byte, 1<<20); ; {
			if _, err := c.Write(b); err != nil {
				writes <- err
				return
			}
		}
	})
	s.dial(t, "")
	if err := receive(t, writes); !errors.Is(err, receivers.ErrStalled) {
		t.Errorf("write ends with %v, want %v", err, receivers.ErrStalled)
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
	tcp, err := receivers.ListenTCP(receivers.TCPOptions{Listener: &flaky{l, 3}})
	if err != nil {
		t.Fatal(err)
	}
	ended, taken := make(chan error, 1), make(chan bool, 1)
	go func() {
		ended <- tcp.Serve(t.Context(), func(context.Context, *receivers.Conn) { taken <- true })
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
