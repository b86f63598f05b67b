package peer

import (
	"context"
	"errors"
	"io"
	"sync"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/peer/peerv1"
)

// inFlight is how many batches of one stream may be on their way.
const inFlight = 256

// A slot is a batch on its way.
type slot struct {
	number uint64
	target *peerv1.Target
	engine core.Engine
	batch  core.Batch
	ticket core.Ticket
	err    error         // if the ticket is not to be waited for
	asked  bool          // the ticket is to be waited for
	named  chan struct{} // closed when err is set, for a batch that names refused samples; else nil
}

var slots = sync.Pool{New: func() any { return new(slot) }}

// Submit answers Submit. Batches are submitted in the order in which they come, and answered in
// that order.
func (s *Server) Submit(ctx context.Context, stream *connect.BidiStream[peerv1.SubmitRequest, peerv1.SubmitResponse]) error {
	under := make(chan *slot, inFlight)
	var answering sync.WaitGroup
	defer answering.Wait() // the store still has batches
	defer close(under)
	answering.Go(func() { s.acknowledge(stream, under) })
	var target *peerv1.Target
	var r batchReader
	for {
		m, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if target == nil {
			target = m.GetTarget()
		}
		x := slots.Get().(*slot)
		x.number, x.target, x.err, x.asked, x.named = m.GetNumber(), target, nil, false, nil
		x.batch.Reset()
		if x.err = r.read(m.GetBatch(), &x.batch); x.err == nil {
			s.submit(ctx, target, x, m.GetNames())
		}
		under <- x
	}
}

// submit gives the batch of x to its partition.
func (s *Server) submit(ctx context.Context, target *peerv1.Target, x *slot, names bool) {
	if x.engine, x.err = s.engine(ctx, target); x.err != nil {
		x.err = notDone(x.err)
		return
	}
	if !names {
		x.err = x.engine.Submit(ctx, &x.batch, &x.ticket)
		x.asked = x.err == nil
		return
	}
	named := make(chan struct{})
	x.named = named
	go func() {
		defer close(named)
		x.err = x.engine.Append(ctx, &x.batch)
	}()
}

// acknowledge answers each batch once it is applied.
func (s *Server) acknowledge(stream *connect.BidiStream[peerv1.SubmitRequest, peerv1.SubmitResponse], under <-chan *slot) {
	gone := false
	for x := range under {
		switch {
		case x.named != nil:
			<-x.named
		case x.asked:
			x.err = x.ticket.Wait()
		}
		if !gone {
			st := s.standing(x.target, x.engine, told(x.err))
			if x.asked {
				st.Acknowledged = max(st.GetAcknowledged(), uint64(x.ticket.Pos()))
			}
			gone = stream.Send(&peerv1.SubmitResponse{Number: x.number, Standing: st}) != nil
		}
		x.engine, x.target = nil, nil
		slots.Put(x)
	}
}
