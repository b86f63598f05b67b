package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// readBytes bounds what a broker sends for one request.
const readBytes = 4 << 20

// errAnswer says that a broker answered something else than was asked.
var errAnswer = errors.New("the broker's answer is not to the question")

// A home is where a topic's partition is.
type home struct {
	id     [16]byte // of the topic
	leader int32
	others []int32 // the other brokers that have a replica
}

// forget makes the next find ask the brokers again.
func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home = home{}
}

// find returns where the partition is. It asks the brokers if that is not known.
func (s *Server) find(ctx context.Context) (home, error) {
	s.mu.Lock()
	h := s.home
	s.mu.Unlock()
	if h.id != [16]byte{} {
		return h, nil
	}
	t, err := s.metadata(ctx)
	if err != nil {
		return home{}, err
	}
	if len(t.Partitions) != 1 {
		return home{}, fmt.Errorf("topic %s has %d partitions", s.topic, len(t.Partitions))
	}
	p := t.Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil && !errors.Is(err, kerr.ReplicaNotAvailable) {
		return home{}, fmt.Errorf("topic %s: %w", s.topic, err)
	}
	h = home{id: t.TopicID, leader: p.Leader}
	for _, r := range p.Replicas {
		if r != p.Leader {
			h.others = append(h.others, r)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home = h
	return h, nil
}

// metadata asks the brokers about the topic.
func (s *Server) metadata(ctx context.Context) (t kmsg.MetadataResponseTopic, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	ask := kmsg.NewMetadataRequestTopic()
	ask.Topic = new(s.topic)
	req.Topics = append(req.Topics, ask)
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return t, fmt.Errorf("topic %s: %w", s.topic, err)
	}
	if len(resp.Topics) != 1 {
		return t, errAnswer
	}
	t = resp.Topics[0]
	if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
		return t, fmt.Errorf("topic %s: %w", s.topic, err)
	}
	return t, nil
}

// ask sends a request to a broker, once.
func (s *Server) ask(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	resp, err := s.client.Broker(int(broker)).Request(ctx, req)
	if err != nil {
		s.forget()
		return nil, fmt.Errorf("broker %d: %w", broker, err)
	}
	return resp, nil
}

// Special times of a ListOffsets request.
const (
	latest   = -1
	earliest = -2
)

// offset returns the offset of the oldest record, or the one behind the newest.
func (s *Server) offset(ctx context.Context, which int64) (int64, error) {
	h, err := s.find(ctx)
	if err != nil {
		return 0, err
	}
	req := kmsg.NewPtrListOffsetsRequest()
	t, p := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	t.Topic, p.Timestamp = s.topic, which
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := s.ask(ctx, h.leader, req)
	if err != nil {
		return 0, err
	}
	r, ok := resp.(*kmsg.ListOffsetsResponse)
	if !ok || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return 0, errAnswer
	}
	a := r.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(a.ErrorCode); err != nil {
		s.forget()
		return 0, fmt.Errorf("bounds of topic %s: %w", s.topic, err)
	}
	return a.Offset, nil
}

// fetch calls fn for the records of a broker from offset at on, and returns the offset behind the
// last one. It is at if the broker has none. If the topic begins above at, fetch begins there. An
// error of fn ends fetch.
func (s *Server) fetch(ctx context.Context, id [16]byte, broker int32, at int64, bytes int32, fn func(record) error) (int64, error) {
	for {
		p, err := s.fetchOnce(ctx, id, broker, at, bytes)
		if err != nil {
			return at, err
		}
		records, next, err := recordsOf(p, at)
		if errors.Is(err, kerr.OffsetOutOfRange) {
			start, e := s.offset(ctx, earliest)
			if e != nil || start <= at {
				return at, e // behind the end, or behind what this replica has
			}
			at = start
			continue
		}
		if err != nil {
			s.forget()
			return at, fmt.Errorf("read topic %s from offset %d: %w", s.topic, at, err)
		}
		for _, r := range records {
			if err := fn(r); err != nil {
				return at, err
			}
		}
		return next, nil
	}
}

// fetchOnce asks a broker for records.
func (s *Server) fetchOnce(ctx context.Context, id [16]byte, broker int32, at int64, bytes int32) (*kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 0, 0, bytes
	t, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	t.Topic, t.TopicID, p.FetchOffset, p.PartitionMaxBytes = s.topic, id, at, bytes
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := s.ask(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	r, ok := resp.(*kmsg.FetchResponse)
	if !ok {
		return nil, errAnswer
	}
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		s.forget()
		return nil, fmt.Errorf("read topic %s: %w", s.topic, err)
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, errAnswer
	}
	return &r.Topics[0].Partitions[0], nil
}
