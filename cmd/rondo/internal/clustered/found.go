package clustered

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/sleep"
)

const (
	// foundTime is how long the first node waits for others before it makes the map of a new
	// cluster with those that are there.
	foundTime = 3 * time.Second
	// foundPatience is how long a node that starts waits for servers that do not answer, because
	// they choose a leader for example.
	foundPatience = time.Minute
	foundPause    = 200 * time.Millisecond
)

// found waits until the cluster has a map, which this node knows, or makes the first one: with
// three nodes, or those that are there after foundTime. Whoever writes the map first has made the
// cluster. A node that was in a cluster makes none.
func (m *Member) found(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	var err error
	if m.node.Cluster() == "" {
		err = found(ctx, m.bucket, &m.o, foundPatience)
	}
	if err == nil {
		err = m.node.Wait(ctx)
	}
	select {
	case <-m.ended:
		return m.err
	default:
		return err
	}
}

// found waits until s has a map, or writes the first one. While s fails it tries again, until the
// patience is over.
func found(ctx context.Context, s coord.Store, o *Options, patience time.Duration) error {
	w := coord.NewWatcher(s, coord.Times{}, time.Now)
	began, answered := time.Now(), time.Now()
	told := false
	for {
		done, err := foundOnce(ctx, w, s, o, time.Since(began) > foundTime)
		switch {
		case done:
			return nil
		case errors.Is(err, coord.ErrMapLost):
			return err
		case err == nil:
			answered = time.Now()
		case ctx.Err() == nil && time.Since(answered) > patience:
			return fmt.Errorf("cluster %s: %w", o.Name, err)
		case ctx.Err() == nil && !told:
			o.Logger.Warn("the cluster cannot be looked at yet; it is tried again", "name", o.Name, "err", err)
			told = true
		}
		if err := sleep.For(ctx, foundPause); err != nil {
			return err
		}
	}
}

// foundOnce reports whether s has a map. If there is no map it writes one, once there are three
// nodes, or any after the time that others have to come. The error wraps coord.ErrMapLost if there
// was one.
func foundOnce(ctx context.Context, w *coord.Watcher, s coord.Store, o *Options, late bool) (bool, error) {
	v, err := w.Look(ctx)
	if err != nil || v.HasMap() {
		return err == nil, err
	}
	if v.Traces {
		return false, coord.ErrMapLost
	}
	all := v.Placement()
	if len(all) < max(3, o.Replicas) && (len(all) == 0 || !late) {
		return false, nil
	}
	first, err := placement.New(o.Partitions, o.Replicas, all)
	if err != nil {
		return false, err
	}
	first.Cluster = rand.Text()
	if _, err = coord.WriteMap(ctx, s, first, 0); errors.Is(err, coord.ErrConflict) {
		return false, nil // another node has made it
	}
	if err == nil {
		o.Logger.Info("made the cluster", "name", o.Name, "partitions", o.Partitions, "replicas", o.Replicas, "nodes", len(all))
	}
	return false, err
}
