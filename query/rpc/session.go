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

	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Pipe mode runs over a connection of its own. A POST to PipePath with the header "Upgrade:
// rondo-pipe" turns an HTTP/1.1 connection into a session. The caller then sends ExecRequests and
// the server sends ExecResponses. Each message follows its length, 4 bytes in big-endian order. The
// first request says how to run (argv, cwd, environment, plain). With more than one word in argv
// the session runs that one command, and the server asks for its input as for a file. Otherwise the
// field stdin of every request is a piece of the input. The last answer holds the exit code.
//
// A session replaces a stream of HTTP/2 because a line and its answer then take a third of the
// processor time.

const upgradeName = "rondo-pipe" // the value of the header Upgrade

// PipePath is the path of requests that begin a session of pipe mode.
const PipePath = "/rondo.v1.Rondo/Pipe"

// KeepVariable is the variable in the environment of a request that says what create does about a
// series that exists already. Its values are KeepSame and KeepUnseen.
const (
	KeepVariable = "RONDO_KEEP_SAME"
	// KeepSame: create leaves a series alone that has the same definition.
	KeepSame = "1"
	// KeepUnseen, for pipe mode only: create leaves such a series alone if the caller sees no file
	// of its name, and reports to the caller each series that it makes.
	KeepUnseen = "ask"
)

// BeginsSession reports whether a request turns its connection into a session of pipe mode.
func BeginsSession(r *http.Request) bool {
	return r.URL.Path == PipePath && r.Method == http.MethodPost && r.Header.Get("Upgrade") == upgradeName
}

// errNoSession says that a server refuses the caller a session of pipe mode.
var errNoSession = errors.New("the server begins no session of pipe mode")

// Pipe begins a session over a connection of its own. The connection is closed when ctx ends.
func (c *Client) Pipe(ctx context.Context) (*Session, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, unreached(c.url, fmt.Errorf("connect: %w", err))
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // the session is over anyway
	s := &Session{messages: newMessages(conn, maxAnswerBytes), stop: stop}
	answer, err := c.greet(s)
	if err != nil && closed(err) && !c.socket {
		err = heard(ctx, c.url, c.dial, err)
	}
	if err != nil {
		return nil, errors.Join(ended(unreached(c.url, err)), s.Close())
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		err := strange(c.url, answer)
		if err == nil {
			err = fmt.Errorf("%w: %s", errNoSession, answer.Status)
		}
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// greet asks for a session, and reads the head of the answer.
func (c *Client) greet(s *Session) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodPost, c.url+PipePath, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Host = c.host
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", upgradeName)
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	if err := r.Write(s.conn); err != nil {
		return nil, err
	}
	return http.ReadResponse(s.in, r)
}

// A Session runs the commands of pipe mode in a server. Requests go one way and answers the other,
// up to the answer with the exit code. Send and Receive may be called at the same time, each by one
// goroutine. Their errors wrap ErrEnded if the connection ends before that answer.
type Session struct {
	*messages
	stop func() bool
}

// Send sends a request.
func (s *Session) Send(m *rondov1.ExecRequest) error { return ended(s.send(m)) }

// Receive waits for an answer.
func (s *Session) Receive() (*rondov1.ExecResponse, error) {
	m := new(rondov1.ExecResponse)
	err := s.receive(m)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return m, ended(err)
}

// Close ends the session.
func (s *Session) Close() error {
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

// refuse ends a session that is refused or must end, with an error for the caller.
func (c caller) refuse(why error) error {
	code := int32(1)
	return c.Send(&rondov1.ExecResponse{Stderr: fmt.Appendf(nil, "ERROR: %s\n", messageOf(why)), ExitCode: &code})
}

// sessions are the open sessions of a Commands.
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
