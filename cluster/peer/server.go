package peer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
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

	pieceBytes = 256 << 10 // of a copy or a backup in one message
	chunkItems = 512       // entries of a list in one message
	chunkBytes = 512 << 10 // about
)

// A Server serves the partitions of a node to other nodes. After Handler its fields stay as they
// are.
type Server struct {
	peerv1.UnimplementedPeerHandler // answers the methods that this program lacks

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

// Handler returns the path of the service and the handler that answers below it. Bodies come over
// HTTP/2. The error says that neither Token nor Certificates is set.
func (s *Server) Handler() (string, http.Handler, error) {
	if s.Token == "" && !s.Certificates {
		return "", nil, errors.New("peer: callers need a token or a certificate")
	}
	path, h := peerv1.NewPeerHandler(s, connect.WithReadMaxBytes(MaxMessage), connect.WithCompressMinBytes(1<<10))
	return path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// What engines may know of their log.
type (
	acknowledger interface{ Acknowledged() wal.Pos }
	positioned   interface{ Position() wal.Pos }
	follower     interface {
		WaitFor(ctx context.Context, p wal.Pos) error
	}
)

// engine returns the partition of a request, once it has applied the log as far as is asked.
func (s *Server) engine(ctx context.Context, t *peerv1.Target) (core.Engine, error) {
	e, err := s.Partition(int(t.GetPartition()))
	if err != nil {
		return nil, err
	}
	after := wal.Pos(t.GetAfter())
	if after == 0 {
		return e, nil
	}
	if x, ok := e.(positioned); ok && x.Position() >= after {
		return e, nil
	}
	f, ok := e.(follower)
	if !ok {
		return nil, fmt.Errorf("partition %d cannot tell whether it has applied position %d: %w", t.GetPartition(), after, core.ErrUnavailable)
	}
	return e, f.WaitFor(ctx, after)
}

// standing returns how a call has ended. e is nil if there is no partition.
func (s *Server) standing(t *peerv1.Target, e core.Engine, err error) *peerv1.Standing {
	st := &peerv1.Standing{Failure: failureOf(err)}
	if e == nil {
		return st
	}
	st.Instance, st.Renames = s.instances.of(t.GetPartition(), e), e.Renames()
	if x, ok := e.(positioned); ok {
		st.Position = uint64(x.Position())
	}
	if x, ok := e.(acknowledger); ok {
		st.Acknowledged = uint64(x.Acknowledged())
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
	var b [8]byte
	_, _ = rand.Read(b[:]) // it does not fail
	id := binary.LittleEndian.Uint64(b[:]) | 1
	if x.all == nil {
		x.all = make(map[uint32]instance)
	}
	x.all[partition] = instance{e, id}
	return id
}

// do calls fn with the partition of a request.
func (s *Server) do(ctx context.Context, t *peerv1.Target, fn func(e core.Engine) error) *peerv1.Standing {
	e, err := s.engine(ctx, t)
	if err != nil {
		return s.standing(t, nil, notDone(err))
	}
	return s.standing(t, e, sent(fn(e)))
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

// numbered returns ctx with the number that a request has.
func numbered(ctx context.Context, t *peerv1.Target) context.Context {
	return core.WithNumber(ctx, core.Number{Session: t.GetSession(), N: t.GetNumber()})
}

// An answer is a response that needs no more than being wrapped.
func answer[T any](m *T) (*connect.Response[T], error) { return connect.NewResponse(m), nil }

// malformed says that a message is not as the protocol has it.
func malformed(format string, args ...any) error {
	return fmt.Errorf("malformed message of a peer: %s", fmt.Sprintf(format, args...))
}
