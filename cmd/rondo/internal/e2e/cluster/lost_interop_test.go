//go:build !race

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestClusterIsMended deletes the logs of all partitions on the servers while three nodes run, and
// then all of the bucket. Status says which command goes on, and nothing is missing after it.
func TestClusterIsMended(t *testing.T) {
	t.Parallel() // most of it is waiting
	servers := threeServers(t)
	dir := t.TempDir()
	start := func(name string) *rondotest.Daemon {
		return rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", servers.URLs(), "--cluster-monitor", strings.Join(servers.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M")
	}
	nodes := []*rondotest.Daemon{start("a"), start("b"), start("c")}
	t.Cleanup(func() {
		for _, d := range nodes {
			if t.Failed() {
				t.Log(d.Log.String())
			}
		}
	})
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
	o := &operatedCluster{t: t, dir: dir, nats: servers}
	hint := regexp.MustCompile(`rondo cluster (mend --log \d \w)`)
	for p := range 3 {
		var found []string
		o.eventually(1, "the command", func(out string) bool {
			for _, f := range hint.FindAllStringSubmatch(out, -1) {
				if strings.HasPrefix(f[1], fmt.Sprintf("mend --log %d ", p)) {
					found = append(strings.Fields(f[1]), "--cluster", servers.URLs())
				}
			}
			return found != nil
		}, by(nodes[0], "status")...)
		o.until(0, "is to begin the log", found...)
	}
	for round := 10; round <= 15; round++ {
		update(round)
	}
	awaitWhole(t, nodes[1])

	if err := js.DeleteStream(ctx, "KV_rondo-rondo"); err != nil {
		t.Fatal(err)
	}
	o.until(1, "rondo cluster mend --map", by(nodes[0], "status")...)
	folder := filepath.Join(dir, "b")
	o.until(1, "runs: stop all nodes first", "mend", "--map", folder, "--cluster", servers.URLs())
	for _, d := range nodes {
		d.Stop(t)
	}
	o.until(0, "of the map of partitions", "mend", "--map", folder, "--cluster", servers.URLs())
	nodes = []*rondotest.Daemon{start("a"), start("b"), start("c")}
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
	if out, code := o.run(by(nodes[2], "check")...); code != 0 {
		t.Errorf("cluster check: %d\n%s", code, out)
	}
	for _, d := range nodes {
		d.Stop(t)
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
