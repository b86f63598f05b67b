package peer

import (
	"context"

	"github.com/rondo-db/rondo/internal/record"
)

// Stream opens the stream of batches. send takes packed ones, and receive returns how many were
// answered.
func (n *Node) Stream(ctx context.Context) (send func(packed string) error, receive func() (int, error)) {
	stream := n.rpc.CallBidiStream(ctx)
	head := coder{writes: true}
	codeTarget(&head, &target{method: submitName})
	failed := stream.Send(&message{head: head.out})
	send = func(packed string) error {
		if failed != nil {
			return failed
		}
		return stream.Send(&message{rest: []byte(packed)})
	}
	return send, func() (numbers int, err error) {
		m, err := stream.Receive()
		if err != nil {
			return 0, err
		}
		k := coder{Reader: record.Reader{Rest: m.rest}}
		var all []outcome
		list(&k, &all, codeOutcome)
		for _, o := range all {
			numbers += len(o.numbers)
		}
		return numbers, k.Err
	}
}
