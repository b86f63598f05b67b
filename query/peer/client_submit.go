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

// maxUnder is how many bytes of batches may be on their way to a partition, beside one batch.
const maxUnder = 32 << 20

// maxPacked is how large a packed batch may be.
const maxPacked = MaxMessage - 1<<10

// Submit is core.Engine's. Batches go out in the order of the calls, many at a time.
func (c *Client) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	return c.submit(ctx, b, t, false)
}

var tickets = sync.Pool{New: func() any { return new(core.Ticket) }}

// Append is core.Engine's.
func (c *Client) Append(ctx context.Context, b *core.Batch) error {
	t := tickets.Get().(*core.Ticket)
	defer tickets.Put(t)
	if err := c.submit(ctx, b, t, true); err != nil {
		return err
	}
	return t.Wait()
}

func (c *Client) submit(ctx context.Context, b *core.Batch, t *core.Ticket, names bool) error {
	f := frames.Get().(*frame)
	f.packed = appendBatch(f.packed[:0], b)
	if n := len(f.packed); n > maxPacked {
		frames.Put(f)
		return fmt.Errorf("a batch of %d bytes, at most %d are possible: %w", n, maxPacked, core.ErrTooLarge)
	}
	f.names, f.ticket, f.size = names, t, int64(len(f.packed))
	for {
		s := c.submitting()
		if err := s.room.take(ctx, f.size); err != nil {
			frames.Put(f)
			return err
		}
		if s.send(f) {
			return nil
		}
		s.room.give(f.size) // the stream has ended before it had the batch
	}
}

// A frame is a batch on its way.
type frame struct {
	number uint64
	packed []byte
	names  bool
	ticket *core.Ticket
	size   int64
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// submitting returns the stream of c, which it opens if there is none.
func (c *Client) submitting() *submitStream {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == nil || c.stream.ended() {
		ctx, cancel := context.WithCancel(context.Background())
		s := &submitStream{c: c, cancel: cancel, queue: make(chan *frame, inFlight), done: make(chan struct{}), pending: make(map[uint64]underway)}
		s.room.count, s.room.bytes = inFlight, maxUnder
		s.rpc = c.node.rpc.Submit(ctx)
		go s.sends()
		go s.receives()
		c.stream = s
	}
	return c.stream
}

// A submitStream carries the batches of a client. When it breaks, what is on its way fails.
type submitStream struct {
	c      *Client
	rpc    *connect.BidiStreamForClient[peerv1.SubmitRequest, peerv1.SubmitResponse]
	cancel context.CancelFunc
	room   room
	queue  chan *frame // has room for all that room lets in
	done   chan struct{}

	mu      sync.Mutex // guards what follows
	number  uint64
	sent    uint64 // the number of the last batch that may have gone out
	pending map[uint64]underway
	failed  error // why the stream has ended
}

// An underway is what waits for an answer.
type underway struct {
	ticket *core.Ticket
	size   int64
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
	s.number++
	f.number = s.number
	f.ticket.Begin()
	s.pending[f.number] = underway{f.ticket, f.size}
	s.queue <- f
	return true
}

func (s *submitStream) sends() {
	target := s.c.target(context.Background())
	var m peerv1.SubmitRequest
	for {
		select {
		case <-s.done:
			_ = s.rpc.CloseRequest() // the other side may be gone
			return
		case f := <-s.queue:
			s.mu.Lock()
			s.sent = f.number
			s.mu.Unlock()
			m.Target, m.Number, m.Batch, m.Names = target, f.number, f.packed, f.names
			err := s.rpc.Send(&m)
			target = nil
			f.ticket = nil
			frames.Put(f)
			if err != nil { // receives gets the reason
				return
			}
		}
	}
}

func (s *submitStream) receives() {
	for {
		m, err := s.rpc.Receive()
		if err != nil {
			s.end(s.c.unanswered(context.Background(), err))
			_ = s.rpc.CloseResponse() // it has ended
			return
		}
		s.mu.Lock()
		u, ok := s.pending[m.GetNumber()]
		delete(s.pending, m.GetNumber())
		s.mu.Unlock()
		if !ok {
			continue
		}
		s.room.give(u.size)
		u.ticket.At(wal.Pos(m.GetStanding().GetAcknowledged()))
		u.ticket.Complete(s.c.took(m.GetStanding()))
	}
}

// end fails all that is on its way, in order. Of batches that have gone out it is not known whether
// they are stored.
func (s *submitStream) end(err error) {
	s.mu.Lock()
	if s.failed != nil {
		s.mu.Unlock()
		return
	}
	s.failed = err
	pending, sent := s.pending, s.sent
	s.pending = nil
	s.mu.Unlock()
	s.cancel()
	close(s.done)
	unanswered, unsent := err, err
	if errors.Is(err, core.ErrUnanswered) {
		unanswered = fmt.Errorf("the samples may be stored or not: %w", err)
		unsent = s.c.away(&unsentError{errBroken})
	}
	for _, number := range slices.Sorted(maps.Keys(pending)) {
		u := pending[number]
		s.room.give(u.size)
		if number > sent {
			u.ticket.Complete(unsent)
		} else {
			u.ticket.Complete(unanswered)
		}
	}
}

// errBroken is why a batch was not sent that waited for its turn.
var errBroken = errors.New("the connection broke before the samples were sent")

// A room bounds what is on its way.
type room struct {
	mu    sync.Mutex // guards what follows
	count int        // batches more
	bytes int64      // more; a batch that is larger goes alone
	under int        // batches on their way
	wake  chan struct{}
}

// take waits until n bytes have room. The error is ctx's.
func (r *room) take(ctx context.Context, n int64) error {
	for {
		r.mu.Lock()
		if r.count > 0 && (r.bytes >= n || r.under == 0) {
			r.count--
			r.under++
			r.bytes -= n
			r.mu.Unlock()
			return nil
		}
		if r.wake == nil {
			r.wake = make(chan struct{})
		}
		wake := r.wake
		r.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// give gives n bytes back.
func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.under--
	r.bytes += n
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}
