package peer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/peer/peerv1"
	"github.com/rondo-db/rondo/wal"
)

// A submitStream carries batches to a node. While a message with batches is being sent, further
// batches wait, and then go in one message. When the stream breaks, what is on its way fails.
type submitStream struct {
	node   *Node
	of     *Client // whose batches these are; nil: those of all clients of the node
	cancel context.CancelFunc
	wire   wire

	mu      sync.Mutex // guards what follows
	more    sync.Cond  // told when there is something to send, or the stream has ended
	ready   bool       // the node takes batches of this stream
	number  uint64
	queue   []*frame // to be sent
	sent    uint64   // the number of the last batch that may have gone out
	pending map[uint64]underway
	failed  error // why the stream has ended
}

// An underway is what waits for an answer.
type underway struct {
	c      *Client
	ticket *core.Ticket
	size   int64
}

// A wire is the call by which a stream speaks with the node.
type wire interface {
	open() error // waits until the node takes batches
	send(all []*frame) error
	receive() ([]*peerv1.Outcome, error)
	closeRequest()
	closeResponse()
}

// newSubmitStream opens a stream for all clients of a node, or for one.
func newSubmitStream(n *Node, of *Client) *submitStream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &submitStream{node: n, of: of, cancel: cancel, pending: make(map[uint64]underway)}
	s.more.L = &s.mu
	if of == nil {
		s.wire = &manyWire{rpc: n.rpc.SubmitMany(ctx)}
	} else {
		s.wire = &plainWire{rpc: n.rpc.Submit(ctx), target: of.target(context.Background())}
	}
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
	s.push(f)
	return true
}

// push queues a batch. The caller holds mu.
func (s *submitStream) push(f *frame) {
	s.number++
	f.number = s.number
	s.pending[f.number] = underway{f.c, f.ticket, f.size}
	s.queue = append(s.queue, f)
	s.more.Signal()
}

// messageBytes is how large a message of several batches is at most.
const messageBytes = 1 << 20

// take waits for batches to send, and appends them to all. It appends nothing when the stream has
// ended.
func (s *submitStream) take(all []*frame) []*frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.failed == nil && (!s.ready || len(s.queue) == 0) {
		s.more.Wait()
	}
	if s.failed != nil {
		return all
	}
	n, size := 1, s.queue[0].size
	for n < len(s.queue) && size+s.queue[n].size <= messageBytes {
		size += s.queue[n].size
		n++
	}
	all = append(all, s.queue[:n]...)
	s.queue = slices.Delete(s.queue, 0, n)
	s.sent = all[len(all)-1].number
	return all
}

func (s *submitStream) sends() {
	var all []*frame
	for {
		if all = s.take(all[:0]); len(all) == 0 {
			s.wire.closeRequest()
			return
		}
		err := s.wire.send(all)
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
	err := s.wire.open()
	if s.of == nil && connect.CodeOf(err) == connect.CodeUnimplemented {
		s.plain(err)
		s.wire.closeResponse()
		return
	}
	if err == nil {
		s.mu.Lock()
		s.ready = true
		s.mu.Unlock()
		s.more.Signal()
	}
	for err == nil {
		var outcomes []*peerv1.Outcome
		outcomes, err = s.wire.receive()
		for _, o := range outcomes {
			s.answered(o)
		}
	}
	s.end(err)
	s.wire.closeResponse()
}

// answered completes the batches that an answer is of.
func (s *submitStream) answered(o *peerv1.Outcome) {
	for _, number := range o.GetNumbers() {
		s.mu.Lock()
		u, ok := s.pending[number]
		delete(s.pending, number)
		s.mu.Unlock()
		if !ok {
			continue
		}
		u.c.room.give(u.size)
		u.ticket.At(wal.Pos(o.GetStanding().GetAcknowledged()))
		u.ticket.Complete(u.c.took(o.GetStanding()))
	}
}

// plain gives the batches, none of which has gone out, to streams of their clients, in order: the
// node does not know a stream of all.
func (s *submitStream) plain(err error) {
	n := s.node
	n.mu.Lock()
	defer n.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock() // until then no other batch goes before these
	if s.failed != nil {
		return
	}
	n.plain = true
	for _, f := range s.queue {
		if f.c.stream == s {
			f.c.stream = newSubmitStream(n, f.c)
		}
		f.c.stream.adopt(f)
	}
	s.failed, s.queue, s.pending = err, nil, nil
	s.more.Signal()
	s.cancel()
}

// adopt queues a batch that another stream had.
func (s *submitStream) adopt(f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(f)
}

// end fails all that is on its way. Of batches that have gone out it is not known whether they are
// stored.
func (s *submitStream) end(err error) {
	s.mu.Lock()
	if s.failed != nil {
		s.mu.Unlock()
		return
	}
	s.failed = err
	pending, queue, sent := s.pending, s.queue, s.sent
	s.pending, s.queue = nil, nil
	s.more.Signal()
	s.mu.Unlock()
	s.cancel()
	if s.of != nil { // the next stream asks the node again what it knows
		s.node.mu.Lock()
		s.node.plain = false
		s.node.mu.Unlock()
	}
	for _, f := range queue {
		f.free()
	}
	fail(pending, sent, err)
}

// drop fails what is on its way of one client.
func (s *submitStream) drop(c *Client) {
	pending := make(map[uint64]underway)
	s.mu.Lock()
	sent := s.sent
	for number, u := range s.pending {
		if u.c == c {
			pending[number] = u
			delete(s.pending, number)
		}
	}
	s.queue = slices.DeleteFunc(s.queue, func(f *frame) bool { return f.c == c })
	s.mu.Unlock()
	fail(pending, sent, errClosed)
}

// fail completes batches of a stream that has ended with err, in order. Those up to sent have gone
// out.
func fail(pending map[uint64]underway, sent uint64, err error) {
	for _, number := range slices.Sorted(maps.Keys(pending)) {
		u := pending[number]
		why := err
		if err != errClosed {
			why = u.c.unanswered(context.Background(), err)
		}
		switch {
		case !errors.Is(why, core.ErrUnanswered):
		case number > sent:
			why = u.c.away(&unsentError{errBroken})
		default:
			why = fmt.Errorf("the samples may be stored or not: %w", why)
		}
		u.c.room.give(u.size)
		u.ticket.Complete(why)
	}
}

// errBroken is why a batch was not sent that waited for its turn.
var errBroken = errors.New("the connection broke before the samples were sent")
