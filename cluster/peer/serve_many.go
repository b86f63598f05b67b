package peer

import (
	"context"
	"errors"
	"io"
	"sync"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
)

// inFlight is how many batches of one partition may be on their way.
const inFlight = 256

// An intake is a stream of batches for several partitions.
//
// Each partition has a goroutine, which submits its batches in the order in which they come: one
// that waits for its log does not hold up the others. Answers go out as batches are applied, all of
// the moment in one message.
type intake struct {
	s        *Server
	stream   *connect.BidiStream[message, message]
	lanes    map[uint32]chan<- *arrival
	lanework sync.WaitGroup

	mu       sync.Mutex // guards what follows
	more     sync.Cond  // signalled when a batch has come to its end, or no more come
	under    int        // batches that are not answered
	finished []*arrival // to be answered
	ended    bool       // no more come
}

// An arrival is a batch on its way.
type arrival struct {
	in     *intake
	part   packedPart
	number core.Number
	engine core.Engine
	batch  core.Batch
	ticket core.Ticket
	err    error
	asked  bool // the ticket knows what became of the batch
}

var arrivals = sync.Pool{New: func() any {
	x := new(arrival)
	x.ticket.Notify(func() { x.in.finish(x) })
	return x
}}

// submitName is the name of the method whose stream carries batches. Each message is some of them,
// and each message of the answer is a list of outcomes.
const submitName = "submit"

// An outcome is what became of some batches of one partition.
type outcome struct {
	standing standing
	err      error
	numbers  []uint64
}

func codeOutcome(k *coder, x *outcome) {
	codeStanding(k, &x.standing)
	k.error(&x.err)
	list(k, &x.numbers, number)
}

// submit answers a stream of batches. first has those that have come with its name.
func (s *Server) submit(ctx context.Context, stream *connect.BidiStream[message, message], first []byte) error {
	in := &intake{s: s, stream: stream, lanes: make(map[uint32]chan<- *arrival)}
	in.more.L = &in.mu
	var answering sync.WaitGroup
	answering.Go(in.answers)
	err := in.receive(ctx, first)
	for _, lane := range in.lanes {
		close(lane)
	}
	in.lanework.Wait()
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	in.more.Signal()
	answering.Wait() // the store still has batches
	return err
}

// receive gives the batches that come to their lanes.
func (in *intake) receive(ctx context.Context, batches []byte) error {
	for {
		for k := (coder{Reader: record.Reader{Rest: batches}}); len(k.Rest) > 0; {
			x := arrivals.Get().(*arrival)
			x.in, x.engine, x.err, x.asked = in, nil, nil, false
			if codePart(&k, &x.part); k.Err != nil {
				arrivals.Put(x)
				return connect.NewError(connect.CodeInvalidArgument, malformed("batches: %w", k.Err))
			}
			in.mu.Lock()
			in.under++
			in.mu.Unlock()
			lane, err := in.lane(ctx, x.part.partition)
			if err != nil {
				x.err = notDone(err)
				in.finish(x)
				continue
			}
			lane <- x
		}
		m, err := in.stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		batches = m.rest
	}
}

// lane returns the lane of a partition, which it makes if this node has the partition.
func (in *intake) lane(ctx context.Context, partition uint32) (chan<- *arrival, error) {
	if l, ok := in.lanes[partition]; ok {
		return l, nil
	}
	if _, err := in.s.Partition(int(partition)); err != nil {
		return nil, err
	}
	l := make(chan *arrival, inFlight)
	in.lanes[partition] = l
	in.lanework.Go(func() {
		var r batchReader
		for x := range l {
			x.batch.Reset()
			if x.number, x.err = r.read(x.part.batch, &x.batch); x.err != nil {
				in.finish(x)
				continue
			}
			in.submit(ctx, x)
		}
	})
	return l, nil
}

// submit gives the batch of x to its partition.
func (in *intake) submit(ctx context.Context, x *arrival) {
	var err error
	if x.engine, err = in.s.Partition(int(x.part.partition)); err != nil {
		x.err = notDone(err)
		in.finish(x)
		return
	}
	x.asked = true
	// If the engine has taken it, x may be another batch's by now.
	if err := x.engine.Submit(core.WithNumber(ctx, x.number), &x.batch, &x.ticket); err != nil {
		x.asked, x.err = false, err
		in.finish(x)
	}
}

// finish has a batch answered that has come to its end.
func (in *intake) finish(x *arrival) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.finished = append(in.finished, x)
	in.more.Signal()
}

// answers answers batches until all are answered and no more come.
func (in *intake) answers() {
	var all []*arrival
	gone := false
	for {
		in.mu.Lock()
		for len(in.finished) == 0 && !(in.ended && in.under == 0) {
			in.more.Wait()
		}
		all, in.finished = in.finished, all[:0]
		in.under -= len(all)
		in.mu.Unlock()
		if len(all) == 0 {
			return
		}
		m := in.outcomes(all)
		if !gone {
			gone = in.stream.Send(m) != nil
		}
		for _, x := range all {
			x.in, x.engine, x.part = nil, nil, packedPart{}
			arrivals.Put(x)
		}
	}
}

// outcomes returns what became of batches. The stored batches of one partition have one outcome.
func (in *intake) outcomes(all []*arrival) *message {
	var out []outcome
	stored := make(map[core.Engine]int) // indexes of out, plus one
	for _, x := range all {
		if x.asked {
			x.err = x.ticket.Wait()
		}
		n := stored[x.engine]
		if n == 0 || x.err != nil {
			out = append(out, outcome{standing: in.s.standing(x.part.partition, x.engine), err: sent(x.err)})
			if n = len(out); x.err == nil {
				stored[x.engine] = n
			}
		}
		o := &out[n-1]
		if x.asked {
			o.standing.acknowledged = max(o.standing.acknowledged, x.ticket.Pos())
		}
		o.numbers = append(o.numbers, x.part.number)
	}
	k := coder{writes: true}
	list(&k, &out, codeOutcome)
	return &message{rest: k.out}
}
