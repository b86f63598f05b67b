package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
)

const (
	// messageBytes bounds a message, also where the servers take larger ones.
	messageBytes = 512 << 10
	// headerBytes are left for the headers of a message.
	headerBytes = 1 << 10
	// leastMessage is the least max_msg_size that is accepted.
	leastMessage = 64 << 10
	// reserveBytes of a stream are for claims, or an eighth of a small stream.
	reserveBytes = 64 << 10
	// readBytes bounds what a server sends for one request. The requests of many streams share a
	// connection: each waits for the answers to all others.
	readBytes = 1 << 20
	// answerTime is how long a question may take that is no append.
	answerTime = 5 * time.Second
)

// Server is a stream of a Conn.
type Server struct {
	conn     *Conn
	jsStream jetstream.Stream
	stream   string
	subject  string
	most     int // bytes of a message

	mu       sync.Mutex // guards what follows
	left     int64      // bytes that records may still take, at least
	admitted string     // id of the newest message that there was room for
}

var _ stream.Server = (*Server)(nil)

// A pubAck is the answer to a publish.
type pubAck struct {
	Error *jetstream.APIError `json:"error"`
	Seq   uint64              `json:"seq"`
}

// Codes of errors that mean that a message was not stored.
const (
	codeResources   = 10002 // limits of the account
	codeUnavailable = 10008
	codeNotLeader   = 10009
	codeInsufficent = 10023
	codeStorage     = 10047
	codeTooLarge    = 10054
	codeWrongLast   = 10071
	codeStore       = 10077 // maximum bytes exceeded
	codeInProcess   = 10158 // an earlier attempt is not decided yet
	codeWrongLast2  = 10164
)

// Publish is as stream.Server has it.
func (s *Server) Publish(ctx context.Context, after uint64, id string, msg []byte) (uint64, error) {
	if len(msg) > stream.ClaimBytes {
		if err := s.admit(ctx, id, int64(len(msg))+headerBytes); err != nil {
			return 0, err
		}
	}
	m := nats.NewMsg(s.subject)
	m.Header.Set(nats.ExpectedLastSeqHdr, strconv.FormatUint(after, 10))
	m.Header.Set(nats.ExpectedStreamHdr, s.stream)
	m.Header.Set(nats.MsgIdHdr, id)
	m.Data = msg
	resp, err := s.conn.main.nc.RequestMsgWithContext(ctx, m)
	s.conn.hop.Heard(s.conn.main.nc, err == nil)
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) {
		// It was not sent, or nobody was there.
		return 0, fmt.Errorf("%w: %w", wal.ErrRetry, natsconn.Explain(s.conn.main.nc, err))
	}
	if err != nil {
		return 0, natsconn.Explain(s.conn.main.nc, err)
	}
	var ack pubAck
	if err := json.Unmarshal(resp.Data, &ack); err != nil {
		return 0, fmt.Errorf("answer to a publish: %w", err)
	}
	if ack.Error == nil {
		if ack.Seq <= after {
			return 0, fmt.Errorf("message was stored as %d, not behind %d", ack.Seq, after)
		}
		return ack.Seq, nil
	}
	switch ack.Error.ErrorCode {
	case codeWrongLast, codeWrongLast2:
		return 0, fmt.Errorf("%w: %w", stream.ErrConflict, ack.Error)
	case codeStore:
		// Only this error comes before anything is stored anywhere. A leader whose disk fails says
		// 10077, too, and the other replicas may have stored the message.
		if ack.Error.Description == "maximum bytes exceeded" {
			return 0, fmt.Errorf("%w: %w", wal.ErrFull, ack.Error)
		}
	case codeResources, codeInsufficent, codeStorage:
		return 0, fmt.Errorf("%w: %w", wal.ErrFull, ack.Error)
	case codeUnavailable, codeNotLeader, codeTooLarge:
		return 0, fmt.Errorf("%w: %w", wal.ErrRetry, ack.Error)
	case codeInProcess: // not decided
	}
	// Of any other error it is not known either.
	return 0, ack.Error
}

// admit returns an error that wraps wal.ErrFull if a message would take the room that is reserved
// for claims. Without that room nobody could become the writer of a full stream, and truncate it. A
// message that was admitted is admitted again: an earlier attempt may have been stored.
func (s *Server) admit(ctx context.Context, id string, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == s.admitted {
		return nil
	}
	if s.left < size {
		info, err := s.jsStream.Info(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", wal.ErrRetry, err)
		}
		most := info.Config.MaxBytes
		s.left = room(most) - int64(info.State.Bytes)
		if s.left < size {
			return fmt.Errorf("%w: %d bytes of %d are taken", wal.ErrFull, info.State.Bytes, most)
		}
	}
	s.left -= size
	s.admitted = id
	return nil
}

// room returns how many bytes of a stream's bound records may take.
func room(most int64) int64 { return most - min(most/8, reserveBytes) }

// A request asks for messages.
type request struct {
	Seq      uint64 `json:"seq"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// Read is as stream.Server has it. The server that the connection is with answers itself if it has
// a replica; for another replica, Read connects to another server.
func (s *Server) Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	p, err := s.conn.replica(replica)
	if err != nil {
		return err
	}
	question, err := json.Marshal(request{Seq: max(from, 1), Batch: n, MaxBytes: readBytes})
	if err != nil {
		return err
	}
	stopped := false
	// Behind the messages comes one that says that there are no more.
	err = p.ask(ctx, "$JS.API.DIRECT.GET."+s.stream, question, n+1, func(m *nats.Msg) (bool, error) {
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204", "404": // the end of the batch, or nothing there
			return false, nil
		default:
			return false, fmt.Errorf("status %s %s", status, m.Header.Get("Description"))
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return false, fmt.Errorf("sequence: %w", err)
		}
		if err := fn(seq, m.Data); err != nil {
			stopped = true
			return false, err
		}
		return true, nil
	})
	if err != nil && !stopped {
		// An answer would say nothing: a server that is cut off reads its own replica.
		if replica == 0 && !errors.Is(err, context.Canceled) {
			s.conn.hop.Heard(s.conn.main.nc, false)
		}
		return fmt.Errorf("read the stream: %w", err)
	}
	return err
}

// Replica is as stream.Server has it.
func (s *Server) Replica(replica int) string { return s.conn.nameOf(replica) }

// newsOf returns the subject of the announcements of a stream. They are not stored.
func newsOf(stream string) string { return "rondo.news." + stream }

// Announce is as stream.Server has it.
func (s *Server) Announce() {
	_ = s.conn.main.nc.Publish(newsOf(s.stream), nil) // it may be lost
}

// Listen is as stream.Server has it.
func (s *Server) Listen(heard func()) (stop func(), err error) {
	sub, err := s.conn.main.nc.Subscribe(newsOf(s.stream), func(*nats.Msg) { heard() })
	if err != nil {
		return nil, fmt.Errorf("listen to %s: %w", newsOf(s.stream), err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // an error says that the connection is closed
}

// Bounds is as stream.Server has it.
func (s *Server) Bounds(ctx context.Context) (oldest, newest uint64, err error) {
	info, err := s.jsStream.Info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 1, 0, nil // it was deleted: it has no message, as one that is made anew
	}
	s.conn.hop.Heard(s.conn.main.nc, err == nil)
	if err != nil {
		return 0, 0, fmt.Errorf("stream %s: %w", s.stream, natsconn.Explain(s.conn.main.nc, err))
	}
	if info.State.Msgs == 0 {
		return info.State.LastSeq + 1, info.State.LastSeq, nil
	}
	return max(1, info.State.FirstSeq), info.State.LastSeq, nil
}

// Purge is as stream.Server has it.
func (s *Server) Purge(ctx context.Context, below uint64) error {
	s.mu.Lock()
	s.left = 0 // ask again
	s.mu.Unlock()
	return s.jsStream.Purge(ctx, jetstream.WithPurgeSequence(below))
}

// MaxMessage is as stream.Server has it.
func (s *Server) MaxMessage() int { return s.most }

// A peer is a connection to a server, with one subscription for the answers to all questions. With
// a subscription for each question all servers of the cluster would get it.
type peer struct {
	nc     *nats.Conn
	prefix string // of the subjects of answers

	mu      sync.Mutex // guards what follows
	asked   uint64
	waiting map[string]chan *nats.Msg // by the rest of the subject
}

func newPeer(nc *nats.Conn) (*peer, error) {
	p := &peer{nc: nc, prefix: nc.NewInbox() + ".", waiting: make(map[string]chan *nats.Msg)}
	sub, err := nc.Subscribe(p.prefix+"*", p.deliver)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1) // what is asked for is bounded
	}
	if err != nil {
		return nil, fmt.Errorf("listen for answers: %w", err)
	}
	return p, nil
}

// deliver hands an answer to the one who asked. Answers that nobody waits for any more are dropped.
func (p *peer) deliver(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.waiting[strings.TrimPrefix(m.Subject, p.prefix)] <- m:
	default: // more than was asked for, or nobody asked
	}
}

// ask publishes a question and calls fn for each answer, until fn returns false or an error. There
// are most answers at most.
func (p *peer) ask(ctx context.Context, subject string, question []byte, most int, fn func(m *nats.Msg) (more bool, err error)) error {
	answers := make(chan *nats.Msg, most)
	p.mu.Lock()
	p.asked++
	id := strconv.FormatUint(p.asked, 36)
	p.waiting[id] = answers
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
	}()
	if err := p.nc.PublishRequest(subject, p.prefix+id, question); err != nil {
		return err
	}
	for {
		select {
		case m := <-answers:
			if more, err := fn(m); !more || err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
