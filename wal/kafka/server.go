package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
)

const (
	// messageBytes bounds a message, also where the brokers take larger ones.
	messageBytes = 512 << 10
	// batchBytes is left for what stands around a message in a batch of records.
	batchBytes = 1 << 10
	// leastMessage is the least max.message.bytes that is accepted.
	leastMessage = 64 << 10
	// appendTime is how long a leader waits for the other replicas before it says that it does not
	// know.
	appendTime = 1500 * time.Millisecond
)

// Server is a connection to a topic. The sequence number of a message is its offset + 1.
type Server struct {
	client *kgo.Client
	own    bool // Close closes client
	topic  string
	most   int // bytes of a message

	mu   sync.Mutex // guards what follows
	home home
	// Nothing that counts stands behind message voidAfter up to offset voidEnd, which is left out.
	voidAfter uint64
	voidEnd   int64
}

var _ stream.Server = (*Server)(nil)

// Publish is as stream.Server has it. It needs no id: an attempt is told by where it stands.
func (s *Server) Publish(ctx context.Context, after uint64, _ string, msg []byte) (uint64, error) {
	for {
		at := s.end(after)
		got, err := s.produce(ctx, at, msg)
		switch {
		case err != nil:
			return 0, err
		case got == at:
			return uint64(got) + 1, nil
		case got < at:
			return 0, fmt.Errorf("%w: topic %s ended at offset %d and ends at %d now: it was made anew, or lost records", wal.ErrSealed, s.topic, at, got)
		}
		// The record is void, so this attempt kept nothing.
		if err := s.expectVoid(ctx, at, got); err != nil {
			return 0, err
		}
		s.mu.Lock()
		s.voidAfter, s.voidEnd = after, got+1
		s.mu.Unlock()
	}
}

// end returns the offset at which a message may count that follows on after.
func (s *Server) end(after uint64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.voidAfter == after {
		return max(int64(after), s.voidEnd)
	}
	return int64(after)
}

// expectVoid returns stream.ErrConflict if a record counts from offset from up to offset to, which
// is left out.
func (s *Server) expectVoid(ctx context.Context, from, to int64) error {
	h, err := s.find(ctx)
	for err == nil && from < to {
		before := from
		from, err = s.fetch(ctx, h.id, h.leader, from, readBytes, func(r record) error {
			switch {
			case r.offset >= to:
				return nil
			case r.damaged:
				return fmt.Errorf("offset %d is damaged", r.offset)
			case r.counts():
				return stream.ErrConflict
			}
			return nil
		})
		if err == nil && from == before {
			err = fmt.Errorf("offset %d cannot be read yet", from)
		}
	}
	if err == nil || errors.Is(err, stream.ErrConflict) {
		return err
	}
	return fmt.Errorf("%w: look what stands in the place of a message: %w", wal.ErrRetry, err)
}

// kept says whether a broker that answers a produce request with this error may have stored the
// record. The leader refuses for one of the reasons listed here before it appends. For any other,
// an error of the leadership among them, it may have appended before, and the next leader may have
// the record.
func kept(err error) bool {
	for _, refusal := range []error{
		kerr.NotEnoughReplicas, kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.CorruptMessage, kerr.InvalidRecord,
		kerr.InvalidTimestamp, kerr.InvalidTopicException, kerr.InvalidRequiredAcks, kerr.UnsupportedForMessageFormat,
		kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.PolicyViolation, kerr.ThrottlingQuotaExceeded,
	} {
		if errors.Is(err, refusal) {
			return false
		}
	}
	return true
}

// produce appends a record that counts at offset at, and returns the offset at which it is.
func (s *Server) produce(ctx context.Context, at int64, msg []byte) (int64, error) {
	h, err := s.find(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", wal.ErrRetry, err) // nothing was sent
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, int32(appendTime.Milliseconds())
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	t.Topic, t.TopicID, p.Records = s.topic, h.id, appendBatch(nil, at, msg)
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := s.ask(ctx, h.leader, req)
	if err != nil {
		if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
			err = fmt.Errorf("%w: %w", wal.ErrRetry, err) // there was no connection to send it on
		}
		return 0, err
	}
	r, ok := resp.(*kmsg.ProduceResponse)
	if !ok || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return 0, errAnswer
	}
	a := r.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(a.ErrorCode); err != nil {
		s.forget()
		if !kept(err) {
			err = fmt.Errorf("%w: %w", wal.ErrRetry, err)
		}
		return 0, err
	}
	return a.BaseOffset, nil
}

// Read is as stream.Server has it. Replica 0 is the leader.
func (s *Server) Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	h, err := s.find(ctx)
	if err != nil {
		return err
	}
	broker := h.leader
	if replica > len(h.others) {
		return stream.ErrNoReplica
	} else if replica > 0 {
		broker = h.others[replica-1]
	}
	bytes := int32(min(readBytes, (n-1)*s.most+1)) // a broker sends one record in any case
	for at, given := int64(max(from, 1)-1), 0; given == 0; {
		next, err := s.fetch(ctx, h.id, broker, at, bytes, func(r record) error {
			if given == n || !r.damaged && !r.counts() {
				return nil
			}
			given++
			return fn(uint64(r.offset)+1, r.value)
		})
		if err != nil || next == at {
			return err
		}
		at = next
	}
	return nil
}

// Bounds is as stream.Server has it.
func (s *Server) Bounds(ctx context.Context) (oldest, newest uint64, err error) {
	start, err := s.offset(ctx, earliest)
	if err != nil {
		return 0, 0, err
	}
	end, err := s.offset(ctx, latest)
	if err != nil {
		return 0, 0, err
	}
	oldest, newest = uint64(start)+1, uint64(start)
	// The last ones may be void.
	for back := int64(1); newest < oldest && end-back/4 > start; back *= 4 {
		err = s.Read(ctx, 0, uint64(max(start, end-back))+1, int(back), func(seq uint64, _ []byte) error {
			newest = seq
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return oldest, newest, nil
}

// Purge is as stream.Server has it.
func (s *Server) Purge(ctx context.Context, below uint64) error {
	h, err := s.find(ctx)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(appendTime.Milliseconds())
	t, p := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	t.Topic, p.Offset = s.topic, int64(max(below, 1)-1)
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := s.ask(ctx, h.leader, req)
	if err != nil {
		return err
	}
	r, ok := resp.(*kmsg.DeleteRecordsResponse)
	if !ok || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return errAnswer
	}
	switch err := kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode); {
	case err == nil, errors.Is(err, kerr.RequestTimedOut): // the leader did it, others not yet
		return nil
	case errors.Is(err, kerr.OffsetOutOfRange): // done before
		if start, e := s.offset(ctx, earliest); e == nil && start >= p.Offset {
			return nil
		}
		return err
	default:
		s.forget()
		return err
	}
}

// MaxMessage is as stream.Server has it.
func (s *Server) MaxMessage() int { return s.most }

// Close is as stream.Server has it.
func (s *Server) Close() error {
	if s.own {
		s.client.Close()
	}
	return nil
}
