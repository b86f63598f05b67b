package clustered

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/internal/sleep"
)

// WriteMap writes the map of partitions that a node has kept in the folder of its replicas into the
// servers of NATS, which have lost it. It returns the version of the map. Where the servers have
// lost the whole bucket it makes that again, and no node may run: they would not notice that its
// revisions begin anew.
func WriteMap(ctx context.Context, s Servers, dir string) (version uint64, err error) {
	if _, err := os.Stat(filepath.Join(dir, "cluster.json")); err != nil {
		return 0, fmt.Errorf("no node keeps its replicas in %s: %w", dir, err)
	}
	folder, err := node.NewFolder(dir, node.FolderOptions{})
	if err != nil {
		return 0, err
	}
	_, kept, err := folder.Known()
	if err == nil && kept.Partitions == nil {
		err = errors.New("it is damaged, or no map was seen yet: take the folder of another node")
	}
	if err != nil {
		return 0, fmt.Errorf("map of partitions in %s: %w", dir, err)
	}
	bucket, err := s.existing(ctx)
	anew := errors.Is(err, natskv.ErrNoBucket)
	for _, one := range []bool{false, true} {
		if anew && (!one || errors.Is(err, natskv.ErrUnfit)) {
			o := s.bucket()
			o.AcceptFewerReplicas = one
			bucket, err = natskv.Connect(ctx, o)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("--cluster: %w", err)
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	w := coord.NewWatcher(bucket, coord.Times{}, nil)
	v, err := w.Look(ctx)
	if err != nil {
		return 0, err
	}
	switch {
	case v.HasMap() && v.Map.Cluster != kept.Cluster:
		return 0, fmt.Errorf("the servers have the map of another cluster than %s", dir)
	case v.HasMap() && v.Map.Version >= kept.Version:
		return 0, fmt.Errorf("the servers have version %d of the map, and %s has version %d: nothing is lost", v.Map.Version, dir, kept.Version)
	case anew || v.MapRevision == 0 && len(v.Leases) == 0:
		if err := nobodyRuns(ctx, w); err != nil {
			return 0, err
		}
	}
	_, err = coord.WriteMap(ctx, bucket, kept, v.MapRevision)
	return kept.Version, err
}

// nobodyRuns returns an error if a node announces itself.
func nobodyRuns(ctx context.Context, w *coord.Watcher) error {
	if err := sleep.For(ctx, 3*time.Second); err != nil {
		return err
	}
	v, err := w.Look(ctx)
	if err != nil {
		return err
	}
	for name, m := range v.Members {
		if m.Silent == 0 {
			return fmt.Errorf("node %s runs: stop all nodes first, and start them afterwards", name)
		}
	}
	return nil
}

// BeginLog lets the replica of a partition on a node begin the log anew behind what it holds,
// because the servers of NATS have lost records. Errors are as of an operate.Operator.
func BeginLog(ctx context.Context, s Servers, partition int, nodeName string) (err error) {
	bucket, err := s.existing(ctx)
	if err != nil {
		return fmt.Errorf("--cluster: %w", err)
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	look := operate.NewObserver(bucket, coord.Times{}, nil).Look
	return (&operate.Operator{Store: bucket, Look: look}).BeginLog(ctx, partition, nodeName)
}
