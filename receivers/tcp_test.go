package receivers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// waitFor bounds what a test waits for.
const waitFor = time.Minute

// A lines receiver takes a line of text a sample, "SECOND VALUE": as little as a protocol over TCP
// can be.
type lines struct {
	receivers.Counters
	cfg   receivers.Config
	sink  receivers.Sink
	tcp   *sockets.TCP
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
	o := sockets.TCPOptions{Address: cfg.Address, Traffic: &l.Traffic, Logger: cfg.Logger, Yield: cfg.Yield, Farewell: []byte("bye\n")}
	var err1, err2, err3, err4 error
	o.Conns, err1 = strconv.Atoi(cfg.Option(flagConns))
	o.HostConns, err2 = strconv.Atoi(cfg.Option(flagHostConns))
	o.Idle, err3 = time.ParseDuration(cfg.Option(flagIdle))
	l.tcp, err4 = sockets.ListenTCP(o)
	return l, errors.Join(err1, err2, err3, err4)
}

func (l *lines) Addr() net.Addr { return l.tcp.Addr() }
func (l *lines) Close() error   { return l.tcp.Close() }

func (l *lines) Serve(ctx context.Context) error {
	l.queue = receivers.NewSharedQueue(l.sink, &l.Counters, l.cfg)
	defer l.queue.Stop()
	return l.tcp.Serve(ctx, l.handle)
}

func (l *lines) handle(_ context.Context, c *sockets.Conn) {
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

func (l *lines) line(c *sockets.Conn, line string) error {
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
		Fixed:    true,
		Protocol: linesProtocol,
		Opening:  []byte("hello\n"),
		Message:  func(n int) []byte { return fmt.Appendf(nil, "%d %d\n", receivertest.Epoch+n, n) },
		Garbage:  [][]byte{[]byte("x\n"), []byte("1 2 3\n"), bytes.Repeat([]byte("9"), 100), []byte("hello\nhello")},
		Greedy:   [][]byte{nil, []byte("hello\n17")},
		Limits:   receivertest.ConnLimits{Conns: flagConns.Name, HostConns: flagHostConns.Name, Idle: flagIdle.Name},
	})
}
