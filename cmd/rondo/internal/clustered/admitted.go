package clustered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/internal/sleep"
)

// admittedTime bounds how long other nodes are asked whether they take calls. Tests wait longer:
// a handshake of a busy machine can take seconds.
var admittedTime = 3 * time.Second

// liveLooks is in how many looks a node that refuses must have announced itself again.
const liveLooks = 4

// A refusal is a node that never takes calls from here.
type refusal struct {
	coord.Member
	why error
}

func (r *refusal) Error() string { return fmt.Sprintf("node %s at %s %v", r.Name, r.Address, r.why) }

// refusedBy returns the first refusal, and how many there are.
func refusedBy(all []*refusal) error {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return fmt.Errorf("%w (and %d more nodes)", all[0], len(all)-1)
}

// admitted asks all nodes that live, but for self, whether they take calls. It returns whether one
// does, and those that never will, by name. Nodes that do not answer count for neither.
func (p *peers) admitted(ctx context.Context, s coord.Store, self coord.Member) (taken bool, refused []*refusal, err error) {
	w := coord.NewWatcher(s, coord.Times{}, time.Now)
	v, err := look(ctx, w)
	if err != nil {
		return false, nil, err
	}
	var asking sync.WaitGroup
	var mu sync.Mutex // guards the results
	call, cancel := context.WithTimeout(ctx, admittedTime)
	defer cancel()
	for name, m := range v.Members {
		if !m.Live || name == self.Name || m.Address == self.Address {
			continue
		}
		asking.Go(func() {
			err := p.ask(call, m.Member)
			why, never := errors.AsType[*peer.RefusedError](err)
			mu.Lock()
			defer mu.Unlock()
			if taken = taken || err == nil; never {
				refused = append(refused, &refusal{m.Member, why})
			}
		})
	}
	asking.Wait()
	refused, err = thatLive(ctx, w, refused)
	slices.SortFunc(refused, func(a, b *refusal) int { return strings.Compare(a.Name, b.Name) })
	return taken, refused, err
}

// ask asks a node whether it takes calls.
func (p *peers) ask(ctx context.Context, m coord.Member) error {
	n, err := peer.NewNode(p.scheme()+m.Address, p.options)
	if err != nil {
		return err
	}
	defer n.Close()
	return n.Admitted(ctx)
}

// thatLive returns those that announce themselves again. Another process may listen at the address
// of a node that has ended, for which a first look takes it as well.
func thatLive(ctx context.Context, w *coord.Watcher, all []*refusal) (live []*refusal, err error) {
	for range liveLooks {
		if len(all) == 0 {
			break
		}
		if err := sleep.For(ctx, coord.Times{}.WithDefaults().Interval); err != nil {
			return nil, err
		}
		v, err := look(ctx, w)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(r *refusal) bool {
			m := v.Members[r.Name]
			again := m != nil && m.Session == r.Session && m.Silent == 0
			if again {
				live = append(live, r)
			}
			return again
		})
	}
	return live, nil
}

// look looks once.
func look(ctx context.Context, w *coord.Watcher) (*coord.View, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return w.Look(ctx)
}
