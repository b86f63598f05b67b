package peer

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/wal"
)

const (
	// MaxMessage bounds a message of the protocol, in bytes, before it is decoded. Larger things
	// are sent in pieces.
	MaxMessage = 32 << 20
	// DefaultMaxCopy is how large a whole series may be where Server.MaxCopy is 0, in bytes.
	DefaultMaxCopy = 1 << 30
	// DefaultAlterTime is how long an Alter waits for the caller where Server.AlterTime is 0.
	DefaultAlterTime = 30 * time.Second

	chunkBytes = 256 << 10 // in a message of several, about
)

// procedure is the path below which calls are made.
const procedure = "/rondo.peer/call"

// A Server serves the partitions of a node to other nodes. After Handler its fields stay as they
// are.
type Server struct {
	// Partition returns a partition: the same value, which can be compared, until the partition is
	// opened anew. It is called for each request and must not wait. Its error goes to the caller as
	// it is: core.ErrUnavailable if this node does not have the partition (any more).
	Partition func(partition int) (core.Engine, error)
	// Leads returns nil if this node leads a partition for certain, and otherwise an error that
	// wraps core.ErrNotLeader; nil: it leads all that it has.
	Leads func(partition int) error
	// Token is what callers must know. It is sent with each request, so the connections must be
	// encrypted, or be of one machine. Empty: there is none.
	Token string
	// Certificates says that callers need a client certificate, which the listener has checked.
	Certificates bool
	// MaxCopy bounds a whole series that is imported or altered, in bytes; 0: DefaultMaxCopy.
	MaxCopy int64
	// AlterTime is how long an Alter waits for the caller's answer; 0: DefaultAlterTime. After some
	// tries all writers wait meanwhile.
	AlterTime time.Duration
	// Expressions evaluates expressions over the series of a partition; nil: this node does not.
	Expressions func(ctx context.Context, partition int, e core.Engine, q partial.Question) (*partial.Answer, error)

	instances instances
}

// Handler returns the path of the service and the handler that answers there. Bodies come over
// HTTP/2. The error says that neither Token nor Certificates is set.
func (s *Server) Handler() (string, http.Handler, error) {
	if s.Token == "" && !s.Certificates {
		return "", nil, errors.New("peer: callers need a token or a certificate")
	}
	h := connect.NewBidiStreamHandler(procedure, s.answer, connect.WithCodec(codec{}), connect.WithReadMaxBytes(MaxMessage))
	return procedure, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.admit(r); err != nil {
			// The caller may be gone.
			_ = connect.NewErrorWriter().Write(w, r, connect.NewError(connect.CodeUnauthenticated, err))
			return
		}
		control := http.NewResponseController(w)
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), controlKey{}, control)))
	}), nil
}

// controlKey is the key of the *http.ResponseController in the context of a request.
type controlKey struct{}

// admit refuses callers without credentials.
func (s *Server) admit(r *http.Request) error {
	if s.Certificates && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0) {
		return errors.New("a client certificate is needed: all of its nodes, and commands that reach them, have --cluster-node-tls")
	}
	if s.Token == "" {
		return nil
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.Token))
	if !ok || subtle.ConstantTimeCompare(got[:], want[:]) == 0 {
		return errors.New("the token of this cluster is needed: all of its nodes, and commands that reach them, have the same --cluster-token-file")
	}
	return nil
}

// A replica is an engine that knows how far it has come in its log.
type replica interface {
	Acknowledged() wal.Pos
	Position() wal.Pos
	WaitFor(ctx context.Context, p wal.Pos) error
}

// engine returns the partition of a request, once it has applied the log as far as is asked.
func (s *Server) engine(ctx context.Context, t *target) (core.Engine, error) {
	e, err := s.Partition(int(t.partition))
	if err != nil || t.after == 0 {
		return e, err
	}
	x, ok := e.(replica)
	if !ok {
		return nil, fmt.Errorf("partition %d cannot tell whether it has applied position %d: %w", t.partition, t.after, core.ErrUnavailable)
	}
	if x.Position() < t.after {
		err = x.WaitFor(ctx, t.after)
	}
	return e, err
}

// standing returns where a partition stands; e is nil where this node does not have it.
func (s *Server) standing(partition uint32, e core.Engine) (st standing) {
	if e == nil {
		return st
	}
	st.instance, st.renames = s.instances.of(partition, e), e.Renames()
	if x, ok := e.(replica); ok {
		st.position, st.acknowledged = x.Position(), x.Acknowledged()
	}
	return st
}

// instances distinguishes the openings of a partition.
type instances struct {
	mu  sync.Mutex // guards all
	all map[uint32]instance
}

type instance struct {
	engine core.Engine
	id     uint64
}

func (x *instances) of(partition uint32, e core.Engine) uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, ok := x.all[partition]
	if ok && was.engine == e {
		return was.id
	}
	id := rand.Uint64() | 1
	if x.all == nil {
		x.all = make(map[uint32]instance)
	}
	x.all[partition] = instance{e, id}
	return id
}

// sent returns the error of a store as other nodes get it. A store that this node closes is not the
// caller's: another one takes the call.
func sent(err error) error {
	if errors.Is(err, core.ErrClosed) {
		return notDone(err)
	}
	return err
}

// notDone says of err, for which a partition could not be asked, that another node is to be asked.
func notDone(err error) error { return &notDoneError{err} }

// A notDoneError matches core.ErrUnanswered and has the text of its cause.
type notDoneError struct{ err error }

func (e *notDoneError) Error() string { return e.err.Error() }
func (e *notDoneError) Unwrap() error { return e.err }
func (e *notDoneError) Is(target error) bool {
	return target == core.ErrUnanswered || target == core.ErrUnavailable
}

// malformed says that a message is not as the protocol has it.
func malformed(format string, args ...any) error {
	return fmt.Errorf("malformed message of a peer: "+format, args...)
}

// A method is a call as both sides have it: what the question has, what each part of the answer
// has, and what the other node does. It calls give with the parts, which is false when the caller
// is gone.
type method[Q, A any] struct {
	name     string
	question func(*coder, *Q)
	answer   func(*coder, *A)
	do       func(x *call, q *Q, give func(*A) bool) error
}

// methods are the methods that a Server has, by name.
var methods = make(map[string]func(*call) error)

// define returns a method that a Server has.
func define[Q, A any](name string, question func(*coder, *Q), answer func(*coder, *A), do func(*call, *Q, func(*A) bool) error) *method[Q, A] {
	m := &method[Q, A]{name, question, answer, do}
	methods[name] = m.serve
	return m
}

// A call is a call as the node sees it that answers.
type call struct {
	ctx    context.Context
	s      *Server
	target target
	engine core.Engine
	stream *connect.BidiStream[message, message]
	in     coder // the rest of the question
	out    coder // parts that are not sent
	failed error // of the stream
}

// serve answers a call of m.
func (m *method[Q, A]) serve(x *call) error {
	var q Q
	if m.question(&x.in, &q); x.in.Err != nil {
		return malformed("%s: %w", m.name, x.in.Err)
	}
	return m.do(x, &q, func(a *A) bool {
		if x.failed != nil {
			return false
		}
		at := len(x.out.out)
		x.out.out = append(x.out.out, 0, 0, 0, 0)
		m.answer(&x.out, a)
		binary.LittleEndian.PutUint32(x.out.out[at:], uint32(len(x.out.out)-at-4))
		return len(x.out.out) < chunkBytes || x.flush()
	})
}

// flush sends the parts that are not sent.
func (x *call) flush() bool { return x.send(heading{}) }

func (x *call) send(h heading) bool {
	h.standing = x.s.standing(x.target.partition, x.engine)
	k := coder{writes: true}
	codeHeading(&k, &h)
	if x.failed == nil {
		x.failed = x.stream.Send(&message{k.out, x.out.out})
	}
	x.out.out = x.out.out[:0]
	return x.failed == nil
}

// answer answers a call.
func (s *Server) answer(ctx context.Context, stream *connect.BidiStream[message, message]) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	x := call{s: s, stream: stream, out: coder{writes: true}}
	x.in.Rest = first.rest
	if codeTarget(&x.in, &x.target); x.in.Err != nil {
		return connect.NewError(connect.CodeInvalidArgument, malformed("a question: %w", x.in.Err))
	}
	if x.target.method == submitName {
		return s.submit(ctx, stream, x.in.Rest)
	}
	serve := methods[x.target.method]
	if serve == nil {
		return connect.NewError(connect.CodeUnimplemented, fmt.Errorf("this node does not know %.40q", x.target.method))
	}
	x.ctx = core.WithNumber(ctx, x.target.number)
	if e, failed := s.engine(ctx, &x.target); failed != nil {
		err = notDone(failed)
	} else {
		x.engine = e
		err = sent(serve(&x))
	}
	if refused, ok := err.(*connect.Error); ok {
		return refused
	}
	x.send(heading{ended: true, err: err})
	return x.failed
}
