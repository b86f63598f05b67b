//go:build !race

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestClusterMakesDeletedBucket deletes the bucket of the cluster on the servers while three nodes
// run and samples are sent, and a fourth node starts. The nodes that run make it again and write
// what they know: the cluster is the same, whole, and no sample is missing.
func TestClusterMakesDeletedBucket(t *testing.T) {
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
		eventually(t, "create", nodes[0], "create", fmt.Sprintf("s/%d", i), "--start", "1000000000", "--step", "10", "DS:x:GAUGE:1000:U:U", "RRA:LAST:0:1:500")
	}
	round := 0
	update := func() {
		round++
		for i := range series {
			eventually(t, "update", nodes[round%3], "update", "--skip-past-updates", fmt.Sprintf("s/%d", i), fmt.Sprintf("%d:%d", 1000000000+10*round, round))
		}
	}
	update()
	awaitWhole(t, nodes[0])
	cluster := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name, "replicas", "cluster.json"))
		if err != nil {
			t.Fatal(err)
		}
		was, _, _ := strings.Cut(string(b), ",")
		return was
	}
	was := cluster("a")

	c, err := nats.Connect(servers.URLs())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := js.DeleteStream(ctx, "KV_rondo-rondo"); err != nil {
		t.Fatal(err)
	}
	update()
	update()
	nodes = append(nodes, start("d")) // it makes neither the bucket nor a cluster
	for range 3 {
		update()
	}
	for _, d := range nodes {
		awaitWhole(t, d)
	}
	if now := cluster("d"); now != was {
		t.Errorf("the new node is in %s, and the others in %s", now, was)
	}
	t.Logf("%d rounds", round)
	made := 0
	for j, d := range nodes {
		for i := range series {
			out := eventually(t, "fetch", d, "fetch", fmt.Sprintf("s/%d", i), "LAST", "--start", "1000000000", "--end", fmt.Sprint(1000000000+10*round))
			for k := 1; k <= round; k++ {
				if want := fmt.Sprintf("%d: %.10e", 1000000000+10*k, float64(k)); !strings.Contains(out, want) {
					t.Fatalf("s/%d through node %d lacks %q:\n%s", i, j, want, out)
				}
			}
		}
		made += strings.Count(d.Log.String(), "the bucket of the cluster was deleted")
	}
	if out, code := (&operatedCluster{t: t}).run(by(nodes[3], "check")...); code != 0 {
		t.Errorf("cluster check: %d\n%s", code, out)
	}
	for _, d := range nodes {
		d.Stop(t)
		if t.Failed() {
			t.Log(d.Log.String())
		}
	}
	if made == 0 {
		t.Error("no node says that it has made the bucket again")
	}
}
