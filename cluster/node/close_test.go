package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/engine/core"
)

// A tied replica leads, and its digest ends when it leads no more.
type tied struct {
	pawn
	demoted chan struct{}
}

func (r *tied) Demote(context.Context) error {
	close(r.demoted)
	return r.set(false)
}

func (r *tied) TakeDigest(context.Context, float64) (core.Digested, error) {
	<-r.demoted
	return core.Digested{}, core.ErrUnavailable
}

// A node that ends waits for the task of a replica, can demote the replica then, and a digest ends
// when that is done. None of this waits for a look at the cluster.
func TestCloseWaitsForTasksOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := New(Options{
			Name: "a", Store: coordtest.New(time.Now, 0).Client("a"), Disk: pawns(2), Peers: modelPeer{}, DigestInterval: time.Hour,
			Times: coord.Times{Interval: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		const lasts = 3 * time.Second
		leads, becomes := &tied{demoted: make(chan struct{})}, new(pawn)
		_ = leads.set(true)
		n.mu.Lock()
		n.locals[0].opened(leads)
		n.locals[1].opened(becomes)
		n.locals[0].standing.Leads = true
		n.takeDigest(t.Context(), n.locals[0])
		n.run(t.Context(), n.locals[0], taskTruncate, 0, func(context.Context) (func(), error) {
			time.Sleep(lasts)
			return nil, nil
		})
		n.run(t.Context(), n.locals[1], taskPromote, 0, func(ctx context.Context) (func(), error) {
			return nil, becomes.Promote(ctx)
		})
		n.mu.Unlock()
		began := time.Now()
		if err := n.close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != lasts {
			t.Errorf("it took %v to close, and the tasks took %v", took, lasts)
		}
		if becomes.Standing().Leads || leads.Standing().Leads {
			t.Error("a replica leads still")
		}
	})
}
