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
	queue   []*frame // to be sent
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

// send queues a batch, unless the stream has ended.
func (s *submitStream) send(f *frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return false
	}
	f.ticket.Begin()
	s.number++
	f.number = s.number
	s.pending[f.number] = underway{f.c, f.ticket, f.size}
	s.queue = append(s.queue, f)
	s.more.Signal()
	return true
}

// messageBytes is how large a message of several batches is at most.
const messageBytes = 1 << 20

// take waits for batches to send, and appends them to all. It appends nothing when the stream has
// ended.
func (s *submitStream) take(all []*frame) []*frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.failed == nil && len(s.queue) == 0 {
		s.more.Wait()
	}
	if s.failed != nil {
		return all
	}
	n, size := 1, len(s.queue[0].packed)
	for n < len(s.queue) && size+len(s.queue[n].packed) <= messageBytes {
		size += len(s.queue[n].packed)
		n++
	}
	all = append(all, s.queue[:n]...)
	s.queue = slices.Delete(s.queue, 0, n)
	return all
}

func (s *submitStream) sends() {
	var all []*frame
	head := coder{writes: true}
	codeTarget(&head, &target{method: submitName})
	m := message{head: head.out}
	if s.rpc.Send(&m) != nil { // receives gets the reason
		return
	}
	m.head = nil
	for {
		if all = s.take(all[:0]); len(all) == 0 {
			_ = s.rpc.CloseRequest() // the other side may be gone
			return
		}
		k := coder{writes: true, out: m.rest[:0]}
		for _, f := range all {
			codePart(&k, &packedPart{f.number, f.c.partition, f.packed})
		}
		m.rest = k.out
		err := s.rpc.Send(&m)
		for _, f := range all {
			f.free()
		}
		if err != nil { // receives gets the reason
			return
		}
	}
}

func (f *frame) free() {
	f.c, f.ticket = nil, nil
	frames.Put(f)
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
	pending, queue := s.pending, s.queue
	s.pending, s.queue = nil, nil
	s.more.Signal()
	s.mu.Unlock()
	s.cancel()
	for _, f := range queue {
		f.free()
	}
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
