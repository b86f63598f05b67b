package transfer

import (
	"context"
	"sync"
)

// A gate lets work through, in the order it comes, as long as what is inside is no more than most.
type gate struct {
	most int64

	mu     sync.Mutex
	turned sync.Cond // of mu: inside or next has changed
	inside int64
	next   int // whose turn it is
	last   int // the turn of who comes next
}

func newGate(most int64) *gate {
	g := &gate{most: most}
	g.turned.L = &g.mu
	return g
}

// try enters if there is room at once.
func (g *gate) try(n int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next != g.last || g.inside+n > g.most {
		return false
	}
	g.inside += n
	return true
}

// enter waits for room. Who waits must not be inside.
func (g *gate) enter(ctx context.Context, n int64) error {
	defer context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.turned.Broadcast()
	})()
	g.mu.Lock()
	defer g.mu.Unlock()
	mine := g.last
	g.last++
	for g.next != mine || g.inside+n > g.most && ctx.Err() == nil {
		g.turned.Wait()
	}
	g.next++
	g.turned.Broadcast()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	g.inside += n
	return nil
}

// leave makes room.
func (g *gate) leave(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside -= n
	g.turned.Broadcast()
}
