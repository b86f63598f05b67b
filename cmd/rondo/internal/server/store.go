package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/cluster/shared"
	"github.com/rondo-db/rondo/cluster/spread"
	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/operator"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/figures"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
)

// joinTime bounds how long a node waits for the cluster when it starts.
const joinTime = time.Minute

// openStore opens the database of this machine, or makes the server a node of its cluster.
func (s *server) openStore(ctx context.Context, fail context.CancelCauseFunc) (err error) {
	if s.Cluster != nil {
		return s.joinListeners(ctx, fail)
	}
	if backend.IsNode(s.DB) {
		return fmt.Errorf("%s is the folder of a node: name its cluster with --cluster", absolute(s.DB))
	}
	o := s.Engine
	o.Beside = backups.Beside(s.DB, s.Config.Rules.Files, func(what string, err error) {
		s.Logger.Warn("left out of the backup: "+what, "err", err)
	})
	if s.folder, err = s.openFolder(ctx, o); err != nil {
		return s.opening(err)
	}
	s.store = s.folder
	s.Logger.Info("database open", "dir", absolute(s.DB), "series", s.store.Stats().Series,
		"recovery", time.Since(s.started).Round(time.Millisecond))
	s.backups = &backups.Keeper{Options: s.Backups, Source: s.folder, Logger: s.Logger}
	return nil
}

// lockTime bounds how long a server waits for a database that a command has.
const lockTime = 5 * time.Second

// openFolder opens the database. A command may work in it for a moment, as it does while no server
// runs: openFolder waits for it, but not for another server.
func (s *server) openFolder(ctx context.Context, o core.Options) (*core.Store, error) {
	for deadline := time.Now().Add(lockTime); ; {
		db, err := core.Open(s.DB, o)
		if !errors.Is(err, core.ErrLocked) || time.Now().After(deadline) {
			return db, err
		}
		if _, e := rpc.DialLocal(ctx, s.DB); e == nil {
			return nil, err
		}
		if sleep.For(ctx, lockTime/100) != nil {
			return nil, err
		}
	}
}

// join makes the server a node. It waits for the cluster until ctx ends, and for joinTime at most.
func (s *server) joinListeners(ctx context.Context, fail context.CancelCauseFunc) (err error) {
	if s.Backups.Dir != "" {
		return fmt.Errorf("--backup-to %s %w, and with --cluster the series are on several machines", s.Backups.Dir, core.ErrNoFolder)
	}
	if backend.IsDatabase(s.DB) {
		return fmt.Errorf("--cluster: %s holds a database of one machine, which would be left out of the cluster: name another folder", absolute(s.DB))
	}
	o := *s.Cluster
	o.Dir, o.Store, o.MaxSeries = filepath.Join(s.DB, backend.ReplicasFolder), s.Engine, s.Engine.MaxSeries
	o.SpoolDir = filepath.Join(s.DB, backend.SpoolFolder)
	o.Version, o.Logger = s.Version, s.Logger
	o.DiskSpace = func() (free, size int64) { return figures.DiskSpace(s.DB) }
	engine, atOnce := api.NewEngine(s.Memory)
	s.sums = spread.NewEvaluator(engine, s.Ways.Metrics, atOnce)
	o.Expressions = s.sums.Evaluate
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	if s.member, err = clustered.Join(ctx, o, fail); err != nil {
		return err
	}
	s.store, s.backups = s.member.Engine(), &backups.Keeper{Logger: s.Logger}
	s.shared = shared.New(shared.Options{
		Bucket: shared.Bucket{Store: s.member.Bucket()}, Copy: dashboards.In(o.Dir), Own: dashboards.In(s.DB), Logger: s.Logger,
	})
	s.shared.Look(ctx)
	s.rules.Share(s.member.Turns())
	s.Logger.Info("node of a cluster", "cluster", o.Name, "node", o.Node, "address", s.member.Address(),
		"partitions", s.member.Node().Partitions())
	return nil
}

// operators returns the service for operators of the cluster, which refuses everything if the
// server is no node.
func (s *server) operators() *operator.Service {
	if s.member == nil {
		return &operator.Service{}
	}
	return s.member.Operators()
}

// closeStore closes what openStore has opened.
func (s *server) closeStore() (err error) {
	all := newWaits(s.Logger)
	switch {
	case s.folder != nil:
		all.run("the database, which writes what is in memory", func() {
			if err = s.folder.Close(); err != nil {
				err = fmt.Errorf("close %s: %w", s.DB, err)
			} else {
				s.Logger.Info("database closed", "dir", absolute(s.DB))
			}
		})
	case s.member != nil:
		all.run("the partitions, which other nodes are to lead", func() {
			if err = s.member.Close(); err == nil {
				s.Logger.Info("left the cluster", "cluster", s.Cluster.Name, "node", s.Cluster.Node)
			}
		})
	}
	all.wait()
	return err
}

// own is the folder of the server's own series. Several nodes' are apart.
func (s *server) own() string {
	if s.member != nil {
		return clustered.OwnFolder + "/" + s.Cluster.Node
	}
	return clustered.OwnFolder
}
