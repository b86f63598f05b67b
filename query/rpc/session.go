package rpc

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Pipe mode runs over a connection of its own. A POST to pipePath with the header "Upgrade:
// rondo-pipe" turns an HTTP/1.1 connection into a session. The caller then sends ExecRequests and
// the server sends ExecResponses. Each message follows its length, 4 bytes in big-endian order. The
// first request says how to run (argv, cwd, environment, plain). The field stdin of every request
// is a piece of the input. The last answer holds the exit code.
//
// A session replaces a stream of HTTP/2 because a line and its answer then take a third of the
// processor time.

const (
	upgradeName = "rondo-pipe" // the value of the header Upgrade
	pipePath    = "/rondo.v1.Local/Pipe"
)

// A Session runs the commands of pipe mode in a server. Requests go one way and answers the other,
// up to the answer with the exit code. Send and Receive may be called at the same time, each by one
// goroutine. Their errors wrap ErrEnded if the connection ends before that answer.
type Session interface {
	Send(m *rondov1.ExecRequest) error
	Receive() (*rondov1.ExecResponse, error)
	Close() error
}

// errNoSession says that a server refuses the caller a session of pipe mode.
var errNoSession = errors.New("the server begins no session of pipe mode")

// Pipe begins a session over a connection of its own. The connection is closed when ctx ends. The
// error has the code Unimplemented if the client does not speak to a server's socket.
func (c *Client) Pipe(ctx context.Context) (Session, error) {
	if c.dial == nil {
		return nil, connect.NewError(connect.CodeUnimplemented, errNoSession)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // the session is over anyway
	s := &session{messages: newMessages(conn, maxAnswerBytes), stop: stop}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 0\r\n\r\n", pipePath, SocketName, upgradeName)
	var answer *http.Response
	if err == nil {
		answer, err = http.ReadResponse(s.in, nil)
	}
	if err != nil {
		return nil, errors.Join(ended(err), s.Close())
	}
	_ = answer.Body.Close() // the body is empty; the connection itself stays open
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("%w: %s", errNoSession, answer.Status), s.Close())
	}
	return s, nil
}

// A session is a Session over a connection.
type session struct {
	*messages
	stop func() bool
}

func (s *session) Send(m *rondov1.ExecRequest) error { return ended(s.send(m)) }

func (s *session) Receive() (*rondov1.ExecResponse, error) {
	m := new(rondov1.ExecResponse)
	err := s.receive(m)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return m, ended(err)
}

func (s *session) Close() error {
	s.stop()
	return s.conn.Close()
}

// messages sends and receives the messages of a session on a connection.
type messages struct {
	conn net.Conn
	in   *bufio.Reader
	most int    // bytes of the longest message that is accepted
	out  []byte // buffer of send
	read []byte // buffer of receive
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

// receive reads a message. The error is io.EOF if the connection ends between two messages.
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
	for left := int(n); left > 0; { // the buffer grows with the bytes that have arrived
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

// A caller is the server's end of a session.
type caller struct{ *messages }

func (c caller) Send(m *rondov1.ExecResponse) error { return c.send(m) }

func (c caller) Receive() (*rondov1.ExecRequest, error) {
	m := new(rondov1.ExecRequest)
	return m, c.receive(m)
}

// sessions are the open sessions of a Local.
type sessions struct {
	mu     sync.Mutex // guards conns and closed, and that open grows only while closed is false
	conns  map[net.Conn]context.CancelFunc
	closed bool
	open   sync.WaitGroup
}

// enter registers a session. It returns false if no more sessions may begin.
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

// each calls f for every open session.
func (s *sessions) each(f func(net.Conn, context.CancelFunc)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn, cancel := range s.conns {
		f(conn, cancel)
	}
}
