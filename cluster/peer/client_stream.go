package peer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
)

// A submitStream carries batches to a node. While a message with batches is being sent, further
// batches wait, and then go in one message. When the stream breaks, what is on its way fails.
type submitStream struct {
	cancel context.CancelFunc
	rpc    *connect.BidiStreamForClient[message, message]

	mu      sync.Mutex // guards what follows
	more    sync.Cond  // signalled when there is something to send, or the stream has ended
	number  uint64
	queue   []*[]byte // messages to be sent; the last one takes more batches
	pending map[uint64]underway
	failed  error // why the stream has ended
}

// An underway is what waits for an answer.
type underway struct {
	c      *Client
	ticket *core.Ticket
	size   int64
}

// newSubmitStream opens a stream for all clients of a node.
func newSubmitStream(n *Node) *submitStream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &submitStream{cancel: cancel, rpc: n.rpc.CallBidiStream(ctx), pending: make(map[uint64]underway)}
	s.more.L = &s.mu
	go s.sends()
	go s.receives()
	return s
}

func (s *submitStream) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// messageBytes is how large a message of several batches is at most.
const messageBytes = 1 << 20

// buffers are of batches and messages.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// send puts a packed batch into a message, unless the stream has ended.
func (s *submitStream) send(u underway, packed []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return false
	}
	u.ticket.Begin()
	s.number++
	s.pending[s.number] = u
	last := len(s.queue) - 1
	if last < 0 || len(*s.queue[last])+len(packed) > messageBytes {
		b := buffers.Get().(*[]byte)
		*b = (*b)[:0]
		s.queue = append(s.queue, b)
		last++
	}
	k := coder{writes: true, out: *s.queue[last]}
	codePart(&k, &packedPart{s.number, u.c.partition, packed})
	*s.queue[last] = k.out
	s.more.Signal()
	return true
}

// take waits for a message to send; nil: the stream has ended.
func (s *submitStream) take() *[]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.failed == nil && len(s.queue) == 0 {
		s.more.Wait()
	}
	if s.failed != nil {
		return nil
	}
	b := s.queue[0]
	s.queue = slices.Delete(s.queue, 0, 1)
	return b
}

func (s *submitStream) sends() {
	head := coder{writes: true}
	codeTarget(&head, &target{method: submitName})
	m := message{head: head.out} // in front of the first batches
	for b := s.take(); b != nil; b = s.take() {
		m.rest = *b
		err := s.rpc.Send(&m)
		if buffers.Put(b); err != nil { // receives gets the reason
			return
		}
		m.head = nil
	}
	_ = s.rpc.CloseRequest() // the other side may be gone
}

func (s *submitStream) receives() {
	var err error
	for err == nil {
		var m *message
		if m, err = s.rpc.Receive(); err != nil {
			break
		}
		k := coder{Reader: record.Reader{Rest: m.rest}}
		var all []outcome
		if list(&k, &all, codeOutcome); k.Err != nil {
			err = malformed("outcomes: %w", k.Err)
		}
		for i := range all {
			s.answered(&all[i])
		}
	}
	s.end(err)
	_ = s.rpc.CloseResponse() // it has ended
}

// answered completes the batches that an answer is of.
func (s *submitStream) answered(o *outcome) {
	for _, number := range o.numbers {
		s.mu.Lock()
		u, ok := s.pending[number]
		delete(s.pending, number)
		s.mu.Unlock()
		if !ok {
			continue
		}
		u.c.under.Give("", u.size)
		u.c.took(&o.standing)
		u.ticket.At(o.standing.acknowledged)
		u.ticket.Complete(o.err)
	}
}

// end fails all that is on its way: it is not known whether it is stored.
func (s *submitStream) end(err error) {
	s.mu.Lock()
	if s.failed != nil {
		s.mu.Unlock()
		return
	}
	s.failed = err
	pending := s.pending
	s.pending, s.queue = nil, nil
	s.more.Signal()
	s.mu.Unlock()
	s.cancel()
	fail(pending, err)
}

// fail completes batches of a stream that has ended with err, in order.
func fail(pending map[uint64]underway, err error) {
	for _, number := range slices.Sorted(maps.Keys(pending)) {
		u := pending[number]
		u.c.under.Give("", u.size)
		u.ticket.Complete(fmt.Errorf("the samples may be stored or not: %w", u.c.unanswered(context.Background(), err)))
	}
}
