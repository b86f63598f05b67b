package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	// readBytes bounds what a server sends for one request.
	readBytes = 4 << 20
	// reconnectWait is the time between attempts to connect again.
	reconnectWait = 100 * time.Millisecond
	// answerTime is how long a question may take that is no append.
	answerTime = 5 * time.Second
)

// Server is a connection to a stream.
type Server struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	jsStream jetstream.Stream
	connect  []nats.Option
	stream   string
	subject  string
	most     int // bytes of a message

	mu     sync.Mutex            // guards others
	others map[string]*nats.Conn // connections to single servers, by URL
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
	m := nats.NewMsg(s.subject)
	m.Header.Set(nats.ExpectedLastSeqHdr, strconv.FormatUint(after, 10))
	m.Header.Set(nats.ExpectedStreamHdr, s.stream)
	m.Header.Set(nats.MsgIdHdr, id)
	m.Data = msg
	resp, err := s.nc.RequestMsgWithContext(ctx, m)
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) {
		return 0, fmt.Errorf("%w: %w", wal.ErrRetry, err) // it was not sent, or nobody was there
	}
	if err != nil {
		return 0, err
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
		// Only this one is told before anything is stored anywhere. A leader whose disk fails says
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

// A request asks for messages.
type request struct {
	Seq      uint64 `json:"seq"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// Read is as stream.Server has it. The server that the connection is with answers itself if it has
// a replica; for another replica, Read connects to another server.
func (s *Server) Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	nc, err := s.at(replica)
	if err != nil {
		return err
	}
	ask, err := json.Marshal(request{Seq: max(from, 1), Batch: n, MaxBytes: readBytes})
	if err != nil {
		return err
	}
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // an error says that the connection is closed
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	if err := nc.PublishRequest("$JS.API.DIRECT.GET."+s.stream, inbox, ask); err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("read the stream: %w", err)
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204", "404": // the end of the batch, or nothing there
			return nil
		default:
			return fmt.Errorf("read the stream: status %s %s", status, m.Header.Get("Description"))
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return fmt.Errorf("read the stream: sequence: %w", err)
		}
		if err := fn(seq, m.Data); err != nil {
			return err
		}
	}
}

// at returns the connection for a replica: the usual one, or one to another server.
func (s *Server) at(replica int) (*nats.Conn, error) {
	if replica == 0 {
		return s.nc, nil
	}
	var urls []string
	for _, u := range s.nc.Servers() {
		if u != s.nc.ConnectedUrl() {
			urls = append(urls, u)
		}
	}
	if replica > len(urls) {
		return nil, stream.ErrNoReplica
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := urls[replica-1]
	if nc := s.others[u]; nc != nil && nc.IsConnected() {
		return nc, nil
	}
	options := append([]nats.Option{nats.Name("rondo"), nats.NoReconnect(), nats.IgnoreDiscoveredServers(), nats.Timeout(time.Second)}, s.connect...)
	nc, err := nats.Connect(u, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", u, err)
	}
	if s.others == nil {
		s.others = make(map[string]*nats.Conn)
	}
	s.others[u] = nc
	return nc, nil
}

// Bounds is as stream.Server has it.
func (s *Server) Bounds(ctx context.Context) (oldest, newest uint64, err error) {
	info, err := s.jsStream.Info(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("stream %s: %w", s.stream, err)
	}
	if info.State.Msgs == 0 {
		return info.State.LastSeq + 1, info.State.LastSeq, nil
	}
	return max(1, info.State.FirstSeq), info.State.LastSeq, nil
}

// Purge is as stream.Server has it.
func (s *Server) Purge(ctx context.Context, below uint64) error {
	return s.jsStream.Purge(ctx, jetstream.WithPurgeSequence(below))
}

// MaxMessage is as stream.Server has it.
func (s *Server) MaxMessage() int { return s.most }

// Close is as stream.Server has it.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, nc := range s.others {
		nc.Close()
	}
	s.nc.Close()
	return nil
}
