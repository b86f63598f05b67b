//go:build !race

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestClusterSurvivesLostLogs deletes the logs of all partitions on the servers while three nodes
// run. The nodes begin them anew behind what they hold: nothing is missing, and updates go on. Then
// the servers lose the map of partitions and the token, while one node is started again: it used to
// make another cluster, and no node started any more.
func TestClusterSurvivesLostLogs(t *testing.T) {
	t.Parallel() // most of it is waiting
	servers := threeServers(t)
	dir := t.TempDir()
	start := func(name string) *rondotest.Daemon {
		return rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", servers.URLs(), "--cluster-monitor", strings.Join(servers.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M")
	}
	nodes := []*rondotest.Daemon{start("a"), start("b"), start("c")}
	const series = 6
	for i := range series {
		eventually(t, "create", nodes[0], "create", fmt.Sprintf("s/%d", i), "--start", "1000000000", "--step", "10", "DS:x:GAUGE:1000:U:U", "RRA:LAST:0:1:200")
	}
	update := func(round int) {
		for i := range series {
			eventually(t, "update", nodes[round%3], "update", "--skip-past-updates", fmt.Sprintf("s/%d", i), fmt.Sprintf("%d:%d", 1000000000+10*round, round))
		}
	}
	for round := 1; round <= 9; round++ {
		update(round)
	}
	// All partitions have two replicas, so that those that do not lead have to follow.
	awaitWhole(t, nodes[0])

	js := natstest.JetStream(t, servers.URLs())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for p := range 3 {
		s, err := js.Stream(ctx, fmt.Sprintf("rondo-rondo-p%d", p))
		if err != nil {
			t.Fatal(err)
		}
		if err := js.DeleteStream(ctx, s.CachedInfo().Config.Name); err != nil {
			t.Fatal(err)
		}
		if p > 0 { // the nodes make the first one again
			if _, err := js.CreateStream(ctx, s.CachedInfo().Config); err != nil {
				t.Fatal(err)
			}
		}
	}
	for round := 10; round <= 15; round++ {
		update(round)
	}
	awaitWhole(t, nodes[1])

	const anew = "has lost records, and is begun anew"
	told := strings.Count(nodes[2].Log.String(), anew)
	nodes[2].Stop(t)
	bucket, err := js.Stream(ctx, "KV_rondo-rondo")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"all.map", "token", "lease.0.1"} {
		if err := bucket.Purge(ctx, jetstream.WithPurgeSubject("$KV.rondo-rondo."+key)); err != nil {
			t.Fatal(err)
		}
	}
	nodes[2] = start("c")
	for round := 16; round <= 18; round++ {
		update(round)
	}
	awaitWhole(t, nodes[2])
	for i := range series {
		for j, d := range nodes {
			out := eventually(t, "fetch", d, "fetch", fmt.Sprintf("s/%d", i), "LAST", "--start", "1000000000", "--end", "1000000180")
			for round := 1; round <= 18; round++ {
				if want := fmt.Sprintf("%d: %.10e", 1000000000+10*round, float64(round)); !strings.Contains(out, want) {
					t.Fatalf("s/%d through node %d lacks %q:\n%s", i, j, want, out)
				}
			}
		}
	}
	if out, code := (&operatedCluster{t: t}).run(by(nodes[2], "check")...); code != 0 {
		t.Errorf("cluster check: %d\n%s", code, out)
	}
	for _, d := range nodes {
		told += strings.Count(d.Log.String(), anew)
		d.Stop(t)
	}
	if told < 3 {
		t.Errorf("%d nodes say that they have begun a log anew, want 3", told)
	}
}

// awaitWhole waits until the cluster says that it is whole.
func awaitWhole(t *testing.T, through *rondotest.Daemon) {
	t.Helper()
	o := &operatedCluster{t: t}
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		out, code := o.run(by(through, "status")...)
		if code == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster is not whole: %s\n%s", out, through.Log.String())
		}
	}
}
