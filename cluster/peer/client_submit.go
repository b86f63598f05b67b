package peer

import (
	"context"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/limit"
)

// maxUnder is how many bytes of batches may be on their way to a partition. A batch that is larger
// goes alone, and a small one counts as leastUnder, so that no more than inFlight are on their way.
const (
	maxUnder   = 32 << 20
	leastUnder = maxUnder / inFlight
)

// maxPacked is how large a packed batch may be.
const maxPacked = MaxMessage - 1<<10

// Submit is core.Engine's. Batches go out in the order of the calls, many at a time.
func (c *Client) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	packed := buffers.Get().(*[]byte)
	defer buffers.Put(packed)
	*packed = appendBatch((*packed)[:0], b, core.NumberOf(ctx))
	n := len(*packed)
	if n > maxPacked {
		return fmt.Errorf("a batch of %d bytes, at most %d are possible: %w", n, maxPacked, core.ErrTooLarge)
	}
	u := underway{c, t, min(max(int64(n), leastUnder), maxUnder)}
	if !c.under.Wait(ctx, "", u.size, limit.Forever) {
		return ctx.Err()
	}
	for !c.node.submitting().send(u, *packed) { // the stream has ended before it had the batch
	}
	return nil
}

// submitting returns the stream of the node, which it opens if there is none.
func (n *Node) submitting() *submitStream {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream == nil || n.stream.ended() {
		n.stream = newSubmitStream(n)
	}
	return n.stream
}
