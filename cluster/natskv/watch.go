package natskv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cluster/coord"
)

const (
	// watched are the keys that List knows.
	watched = "all.>"
	// lateTime is how long a Watch may lack what the leader has: the server that sends it may be
	// gone, which the client notices after ten seconds.
	lateTime = time.Second
)

// A watch has the newest values of the watched keys, as the client's Watch brings them.
type watch struct {
	kv    jetstream.KeyValue
	ended sync.WaitGroup
	again chan struct{} // gets a value when the Watch is to begin anew; holds one
	stop  context.CancelFunc

	mu       sync.Mutex // guards what follows
	entries  map[string]coord.Entry
	revision uint64        // all changes up to it are in entries
	changed  chan struct{} // closed with the next change
	err      error         // why there is no Watch
}

// newWatch begins to watch.
func newWatch(kv jetstream.KeyValue) *watch {
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{kv: kv, again: make(chan struct{}, 1), changed: make(chan struct{}), stop: stop}
	w.ended.Go(func() {
		for ctx.Err() == nil {
			w.run(ctx)
		}
	})
	return w
}

// list returns the entries whose keys begin with prefix, of a revision or a later one.
func (w *watch) list(ctx context.Context, prefix string, revision uint64) ([]coord.Entry, error) {
	late := time.NewTimer(lateTime)
	defer late.Stop()
	for {
		all, changed, err := w.upto(prefix, revision)
		if changed == nil {
			return all, nil
		}
		select {
		case <-changed:
		case <-late.C:
			select {
			case w.again <- struct{}{}:
			default: // it will
			}
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return nil, fmt.Errorf("revision %d has not come: %w", revision, err)
		}
	}
}

// upto returns entries, or a channel that is closed when there is more to see.
func (w *watch) upto(prefix string, revision uint64) (all []coord.Entry, changed chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revision < revision {
		return nil, w.changed, w.err
	}
	for key, e := range w.entries {
		if strings.HasPrefix(key, prefix) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b coord.Entry) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil, nil
}

// run watches until ctx ends, or the Watch is to begin anew.
func (w *watch) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, err := w.kv.Watch(ctx, watched)
	w.mu.Lock()
	w.entries, w.revision, w.err = make(map[string]coord.Entry), 0, err
	w.mu.Unlock()
	if err != nil {
		select {
		case <-time.After(lateTime / 4):
		case <-ctx.Done():
		}
		return
	}
	defer func() {
		_ = from.Stop() // an error says that the connection is closed
		go func() {
			for range from.Updates() { // the client waits for a reader
			}
		}()
	}()
	select {
	case <-w.again: // it was said of the Watch before
	default:
	}
	for {
		select {
		case e, ok := <-from.Updates():
			if !ok {
				return
			}
			w.take(e)
		case <-w.again:
			return
		case <-ctx.Done():
			return
		}
	}
}

// take takes in a change; nil: all that was there has come.
func (w *watch) take(e jetstream.KeyValueEntry) {
	if e == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Operation() == jetstream.KeyValuePut {
		w.entries[e.Key()] = coord.Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision()}
	} else {
		delete(w.entries, e.Key())
	}
	w.revision = e.Revision()
	close(w.changed)
	w.changed = make(chan struct{})
}

// close ends the Watch.
func (w *watch) close() {
	w.stop()
	w.ended.Wait()
}
