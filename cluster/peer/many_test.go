package peer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// several serves engines as partitions 0 and up.
func several(all ...core.Engine) *peer.Server {
	return &peer.Server{Partition: func(p int) (core.Engine, error) {
		if p >= len(all) {
			return nil, core.ErrUnavailable
		}
		return all[p], nil
	}}
}

// node connects to a server.
func node(t *testing.T, address string) *peer.Node {
	n, err := peer.NewNode(address, peer.Options{Token: token, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// slowEngine takes batches when the test says so.
type slowEngine struct {
	core.Engine
	take chan struct{}
}

func (e *slowEngine) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	<-e.take
	return e.Engine.Submit(ctx, b, t)
}

// submitTimes submits a batch of one sample of each time.
func submitTimes(t *testing.T, c *peer.Client, ref core.Ref, from, to int) []*core.Ticket {
	t.Helper()
	var all []*core.Ticket
	for i := from; i < to; i++ {
		b, ticket := new(core.Batch), new(core.Ticket)
		b.Add(ref, rra.Seconds(int64(1010+10*i)), rra.Int(int64(i)))
		if err := c.Submit(t.Context(), b, ticket); err != nil {
			t.Fatal(err)
		}
		all = append(all, ticket)
	}
	return all
}

func waitAll(t *testing.T, all []*core.Ticket) {
	t.Helper()
	for i, ticket := range all {
		if err := ticket.Wait(); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
}

// All partitions of a node share a stream. One that takes no batches does not hold up the others.
func TestPartitionThatWaitsHoldsUpNoOther(t *testing.T) {
	slow := &slowEngine{enginetest.Open(t), make(chan struct{})}
	s := enginetest.Open(t)
	n := node(t, serve(t, several(slow, s)).URL)
	a, b := n.Partition(0), n.Partition(1)
	waiting := submitTimes(t, a, gauge(t, slow.Engine.(*core.Store), "a"), 0, 200)
	waitAll(t, submitTimes(t, b, gauge(t, s, "b"), 0, 500))
	for _, ticket := range waiting {
		if ticket.Done() {
			t.Error("a batch that was not taken is done")
		}
	}
	close(slow.take)
	waitAll(t, waiting)
}

// Each batch of a message gets its own outcome.
func TestBatchesOfAMessageHaveTheirOwnOutcomes(t *testing.T) {
	first, second := enginetest.Open(t), enginetest.Open(t)
	refs := []core.Ref{gauge(t, first, "a"), gauge(t, second, "b")}
	n := node(t, serve(t, several(first, second)).URL)
	clients := []*peer.Client{n.Partition(0), n.Partition(1), n.Partition(2)}
	var good, late, absent []*core.Ticket
	for i := range 100 {
		p := i % 2
		good = append(good, submitTimes(t, clients[p], refs[p], i, i+1)...)
		late = append(late, submitTimes(t, clients[p], refs[p], -5, -4)...)
		absent = append(absent, submitTimes(t, clients[2], 1, i, i+1)...)
	}
	waitAll(t, good)
	for i := range late {
		err := late[i].Wait()
		if rejected, ok := errors.AsType[*core.RejectedError](err); !ok || rejected.Late != 1 || rejected.Accepted != 0 {
			t.Errorf("late batch %d: %v", i, err)
		}
		if err := absent[i].Wait(); !errors.Is(err, core.ErrUnanswered) {
			t.Errorf("batch %d for a partition that is not there: %v", i, err)
		}
	}
	for p, c := range clients[:2] {
		if at := good[98+p].Pos(); at == 0 || c.Acknowledged() < at {
			t.Errorf("partition %d: the last batch has position %d, acknowledged is %d", p, at, c.Acknowledged())
		}
	}
}

// Who closes the connection to a node does not wait for batches that the node has.
func TestCloseFailsBatches(t *testing.T) {
	e := &stuckEngine{enginetest.Open(t), make(chan *core.Ticket, 10)}
	n := node(t, serve(t, several(e)).URL)
	failing := submitTimes(t, n.Partition(0), 1, 0, 1)
	first := <-e.took
	n.Close()
	if err := failing[0].Wait(); !errors.Is(err, core.ErrUnanswered) || !strings.Contains(err.Error(), "may be stored or not") {
		t.Errorf("a batch of a connection that was closed: %v", err)
	}
	first.Complete(nil)
	again := submitTimes(t, n.Partition(0), 1, 1, 2) // it may be used again
	(<-e.took).Complete(nil)
	waitAll(t, again)
}

// What does not parse ends the stream. What came before is answered.
func TestMalformedBatchesEndTheStream(t *testing.T) {
	e := &stuckEngine{enginetest.Open(t), make(chan *core.Ticket, 1)}
	send, receive := node(t, serve(t, several(e)).URL).Stream(t.Context())
	good := "\x02\x00\x03\x00\x00\x00"              // number, partition, length, a batch of no samples
	for _, packed := range []string{good, "\x04"} { // a number and no more
		if err := send(packed); err != nil {
			t.Fatal(err)
		}
	}
	(<-e.took).Complete(nil)
	numbers := 0
	for {
		n, err := receive()
		if err != nil {
			if connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("the stream ends with %v", err)
			}
			break
		}
		numbers += n
	}
	if numbers != 1 {
		t.Errorf("%d batches were answered, want 1", numbers)
	}
}
