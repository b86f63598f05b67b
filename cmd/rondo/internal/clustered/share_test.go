package clustered

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// The memory of a node was divided by its flag --cluster-partitions, which says nothing once there
// is a cluster. It is the map that has the number of partitions.
func TestMemoryIsDividedByPartitionsOfMap(t *testing.T) {
	servers := coordtest.New(time.Now, 0)
	c, err := placement.New(4, 1, []placement.Member{{Name: "a"}})
	if err == nil {
		c.Cluster = "tested"
		_, err = coord.WriteMap(t.Context(), servers.Truth(), c, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &Member{o: Options{
		Servers: Servers{Name: "x"}, Partitions: 16, Named: true, Store: core.Options{Memory: 1 << 30, MaxSeries: 1000}, Logger: slog.New(slog.DiscardHandler),
	}}
	away := errors.New("no log here")
	folder, err := node.NewFolder(t.TempDir(), node.FolderOptions{
		Store:   m.storeOptions,
		OpenLog: func(int, wal.Pos, core.OnDurable) (core.Log, error) { return nil, away },
		Follow:  func(int, wal.Pos) (core.Source, error) { return nil, away },
	})
	if err != nil {
		t.Fatal(err)
	}
	m.node, err = node.New(node.Options{Name: "a", Address: "a:1", Store: servers.Client("a"), Disk: folder, Times: coord.Times{Interval: 10 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- m.node.Run(ctx) }()
	if err := m.node.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	var r node.Replica
	giveUp := time.Now().Add(time.Minute)
	for found := false; !found; time.Sleep(time.Millisecond) {
		if r, found = m.node.Local(3); !found && time.Now().After(giveUp) {
			t.Fatal("partition 3 is not open")
		}
	}
	if got := r.Engine().Stats().MemoryBudget; got != 1<<28 {
		t.Errorf("a partition has %d bytes, want a quarter of a GiB", got)
	}
	if s := m.storeOptions(); s.Memory != 1<<28 || s.MaxSeries != 1000 {
		t.Errorf("partitions have %d bytes and %d series at most, want a quarter and all: the router counts the series of all", s.Memory, s.MaxSeries)
	}
	o, log := m.o, new(bytes.Buffer)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	o.Replicas, o.NamedReplicas = 3, true
	o.warnIgnored(m.node.Partitions(), 2)
	if !strings.Contains(log.String(), "--cluster-replicas is ignored") || !strings.Contains(log.String(), "has=2 named=3") {
		t.Errorf("the log does not say that the number of replicas is ignored: %s", log)
	}
	if !strings.Contains(log.String(), "--cluster-partitions") || !strings.Contains(log.String(), "has=4") {
		t.Errorf("the log does not say that the flag is ignored: %s", log)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A flag that says what the map has, or was not given, is not talked about.
func TestPartitionsAreNotTalkedAbout(t *testing.T) {
	for _, o := range []Options{{Partitions: 4, Named: true, Replicas: 2, NamedReplicas: true}, {Partitions: 16, Replicas: 3}} {
		var log bytes.Buffer
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.warnIgnored(4, 2)
		if log.Len() > 0 {
			t.Errorf("%+v: %s", o, &log)
		}
	}
}

func TestLinger(t *testing.T) {
	for n, want := range map[int]time.Duration{1: 5, 2: 5, 4: 10, 8: 20, 16: 20, 4096: 20} {
		if got := lingerOf(n); got != want*time.Millisecond {
			t.Errorf("%d partitions: %v, want %d ms", n, got, want)
		}
	}
}
