package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Pipe mode runs over a connection of its own. A POST to pipePath with the header "Upgrade:
// rondo-pipe" turns an HTTP connection into a session. From then on ExecRequests go one way and
// ExecResponses the other, each behind its length in 4 bytes, the greatest first. The first request
// says how to run (argv, cwd, environment, plain); stdin of each request is a piece of the input.
// The last answer holds the exit code. A line and its answer cost a third of the processor time
// that they would cost as a stream of HTTP/2.

const (
	upgradeName = "rondo-pipe" // the value of the header Upgrade
	pipePath    = "/rondo.v1.Local/Pipe"
)

// A Session runs the commands of pipe mode in a server. Requests go one way and answers the other,
// up to the answer with the exit code. Send and Receive may be called at the same time, each by one
// goroutine.
type Session interface {
	Send(m *rondov1.ExecRequest) error
	Receive() (*rondov1.ExecResponse, error) // io.EOF where the server has ended it
	Close() error
}

// errNoSession says that a server has no pipe mode for its caller.
var errNoSession = errors.New("the server begins no session of pipe mode")

// Pipe begins a session over a connection of its own, which ends with ctx. The error has the code
// Unimplemented unless the client speaks to a server's socket.
func (c *Client) Pipe(ctx context.Context) (Session, error) {
	if c.dial == nil {
		return nil, connect.NewError(connect.CodeUnimplemented, errNoSession)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // it is to be cut off
	s := &session{messages: newMessages(conn, maxAnswerBytes), stop: stop}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 0\r\n\r\n", pipePath, SocketName, upgradeName)
	var answer *http.Response
	if err == nil {
		answer, err = http.ReadResponse(s.in, nil)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	_ = answer.Body.Close() // the connection goes on, or is closed
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("%w: %s", errNoSession, answer.Status), s.Close())
	}
	return s, nil
}

// A session is one over a connection.
type session struct {
	*messages
	stop func() bool
}

func (s *session) Send(m *rondov1.ExecRequest) error { return s.send(m) }

func (s *session) Receive() (*rondov1.ExecResponse, error) {
	m := new(rondov1.ExecResponse)
	return m, s.receive(m)
}

func (s *session) Close() error {
	s.stop()
	return s.conn.Close()
}

// messages are those on a connection.
type messages struct {
	conn net.Conn
	in   *bufio.Reader
	most int // bytes of one that is received
	out  []byte
	read []byte
}

const lengthBytes = 4

func newMessages(conn net.Conn, most int) *messages {
	return &messages{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), most: most}
}

func (s *messages) send(m proto.Message) (err error) {
	s.out, err = proto.MarshalOptions{}.MarshalAppend(append(s.out[:0], 0, 0, 0, 0), m)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(s.out, uint32(len(s.out)-lengthBytes))
	_, err = s.conn.Write(s.out)
	if cap(s.out) > 4*chunkBytes {
		s.out = nil
	}
	return err
}

// receive reads a message. It is io.EOF if the connection ends in front of one.
func (s *messages) receive(m proto.Message) error {
	var head [lengthBytes]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > int64(s.most) {
		return fmt.Errorf("a message of %d bytes, at most %d are possible", n, s.most)
	}
	s.read = s.read[:0]
	for left := int(n); left > 0; { // memory for what has arrived, not for what was announced
		at := len(s.read)
		s.read = append(s.read, make([]byte, min(left, chunkBytes))...)
		k, err := io.ReadFull(s.in, s.read[at:])
		if err != nil {
			return fmt.Errorf("within a message of %d bytes: %w", n, io.ErrUnexpectedEOF)
		}
		left -= k
	}
	err := proto.Unmarshal(s.read, m)
	if cap(s.read) > 4*chunkBytes {
		s.read = nil
	}
	return err
}

// A caller is the other end of a session, as the server sees it.
type caller struct{ *messages }

func (c caller) Send(m *rondov1.ExecResponse) error { return c.send(m) }

func (c caller) Receive() (*rondov1.ExecRequest, error) {
	m := new(rondov1.ExecRequest)
	return m, c.receive(m)
}

// sessions are those that a Local has over connections.
type sessions struct {
	mu     sync.Mutex
	conns  map[net.Conn]context.CancelFunc
	closed bool
	open   sync.WaitGroup
}

// enter notes a session; false if no more may begin.
func (s *sessions) enter(conn net.Conn, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.conns == nil {
		s.conns = make(map[net.Conn]context.CancelFunc)
	}
	s.conns[conn] = cancel
	s.open.Add(1)
	return true
}

func (s *sessions) leave(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
	s.open.Done()
}

// each calls f for every session that is open.
func (s *sessions) each(f func(net.Conn, context.CancelFunc)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn, cancel := range s.conns {
		f(conn, cancel)
	}
}

// Close ends the sessions of Pipe, each behind the command that it is at, or after grace within it,
// and lets none begin. It returns when nothing is running, but at most after twice the grace.
func (l *Local) Close(grace time.Duration) {
	s := &l.sessions
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	past := time.Unix(1, 0)
	// if it cannot be set, it is closed below
	s.each(func(conn net.Conn, _ context.CancelFunc) { _ = conn.SetReadDeadline(past) })
	ended := make(chan struct{})
	go func() {
		s.open.Wait()
		close(ended)
	}()
	wait := func() bool {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-ended:
			return true
		case <-t.C:
			return false
		}
	}
	if wait() {
		return
	}
	s.each(func(conn net.Conn, cancel context.CancelFunc) {
		cancel()
		_ = conn.Close() // it is cut off
	})
	wait()
}

// upgrade runs a session over the connection of a request.
func (l *Local) upgrade(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "a pipe needs HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	defer func() { _ = conn.Close() }() // the caller sees the exit code, or none
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if conn.SetDeadline(time.Time{}) != nil || !l.sessions.enter(conn, cancel) {
		return
	}
	defer l.sessions.leave(conn)
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", upgradeName); err != nil {
		return
	}
	m := newMessages(conn, maxExecBytes)
	if early, err := rw.Reader.Peek(rw.Reader.Buffered()); err == nil && len(early) > 0 {
		m.in.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn))
	}
	_ = l.pipe(ctx, caller{m}) // the caller sees the end of the connection
}
