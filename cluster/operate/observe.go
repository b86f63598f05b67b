package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/internal/sleep"
)

// An Observer looks at a cluster from outside: it is no node.
type Observer struct {
	watcher *coord.Watcher
	times   coord.Times
	known   map[string]bool // whether a node was heard since the first look; nil: there was none
	sleep   func(context.Context, time.Duration) error
}

// lookTime bounds one look: a server says nothing about a subject that a user may not ask about.
const lookTime = 10 * time.Second

// NewObserver returns an observer of the cluster that a store describes. now is the clock; nil:
// time.Now.
func NewObserver(s coord.Store, t coord.Times, now func() time.Time) *Observer {
	t = t.WithDefaults()
	return &Observer{watcher: coord.NewWatcher(s, t, now), times: t, sleep: sleep.For}
}

// Look returns what is to be seen. The first time it looks until each node has announced itself
// anew or counts as silent, because it knows nothing of the time before: a second or two if all
// nodes live, Times.Lease if one is silent. A node that is silent for longer is as silent as if it
// had fallen silent at the first look.
func (o *Observer) Look(ctx context.Context) (*coord.View, error) {
	for {
		call, cancel := context.WithTimeout(ctx, lookTime)
		v, err := o.watcher.Look(call)
		cancel()
		if err != nil {
			return nil, err
		}
		if o.heard(v) {
			return v, nil
		}
		if err := o.sleep(ctx, o.times.Interval/4); err != nil {
			return nil, fmt.Errorf("look at the cluster: %w", err)
		}
	}
}

// heard reports whether each node was heard since the first look, or counts as silent.
func (o *Observer) heard(v *coord.View) bool {
	again := o.known != nil
	if !again {
		o.known = make(map[string]bool)
	}
	all := true
	for name, m := range v.Members {
		o.known[name] = o.known[name] || again && m.Silent == 0 // it has announced itself since
		all = all && (o.known[name] || !m.Live)
	}
	return all
}
