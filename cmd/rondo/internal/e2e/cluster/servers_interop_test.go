//go:build !race

package cluster

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestStatusTellsOfServers kills one of three real nats-servers, then another one, and starts both
// again. The status of the cluster shows it, through a node and without, and so do the metrics.
func TestStatusTellsOfServers(t *testing.T) {
	t.Parallel() // most of it is waiting
	o := &operatedCluster{t: t, dir: t.TempDir(), nats: threeServers(t)}
	o.a = rondotest.Serve(t, filepath.Join(o.dir, "a"), "--node", "a", "--cluster", o.nats.URLs(), "--cluster-monitor", strings.Join(o.nats.Monitors(), ","),
		"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "2", "--cluster-replicas", "1", "--cluster-log", "64M")
	direct := []string{"status", "--cluster", o.nats.URLs()}
	monitored := append(slices.Clone(direct), "--cluster-monitor", strings.Join(o.nats.Monitors(), ","))
	ways := [][]string{by(o.a, "status"), direct, monitored}
	for _, way := range ways {
		o.until(0, "cluster rondo is whole\n2 of 2 partitions", way...)
	}
	until(t, o.a, "servers are counted", func() bool {
		m := metricsOf(t, o.a)
		return metricOf(t, m, "rondo_cluster_log_servers") == 3 && metricOf(t, m, "rondo_cluster_log_servers_missing") == 0 && metricOf(t, m, "rondo_cluster_whole") == 1
	})

	o.nats.Nodes[2].Kill()
	const kept = ": 2 of 3 servers keep the logs of partitions 0, 1 and the map of partitions, and updates wait when another one is lost"
	for _, way := range ways {
		o.eventually(1, "n3 first, "+kept, func(out string) bool {
			return strings.Contains(out, kept) && strings.Contains(out, "cluster rondo is not whole\n  warning  nats-server n3 ") &&
				!strings.Contains(out, "n1") && !strings.Contains(out, "n2")
		}, way...)
	}
	for _, way := range [][]string{ways[0], monitored} {
		o.until(1, "nats-server n3 does not answer at "+o.nats.Nodes[2].Monitor+": ", way...)
	}
	o.eventually(1, "one problem, the warning of n3", func(out string) bool {
		var status struct {
			Whole    bool
			Problems []struct{ Severity, Text string }
		}
		return json.Unmarshal([]byte(out), &status) == nil && !status.Whole && len(status.Problems) == 1 &&
			status.Problems[0].Severity == "warning" && strings.HasPrefix(status.Problems[0].Text, "nats-server n3 ")
	}, by(o.a, "status", "-o", "json")...)
	until(t, o.a, "a server is missing", func() bool {
		m := metricsOf(t, o.a)
		return metricOf(t, m, "rondo_cluster_log_servers") == 3 && metricOf(t, m, "rondo_cluster_log_servers_missing") == 1 && metricOf(t, m, "rondo_cluster_whole") == 0
	})
	// Updates go on.
	eventually(t, "create", o.a, "create", "s", "--start", "1000000000", "--step", "10", "DS:x:GAUGE:1000:U:U", "RRA:AVERAGE:0.5:1:50")

	o.nats.Nodes[1].Kill()
	o.until(1, "  error    ", by(o.a, "status")...)
	o.until(1, "updates wait", by(o.a, "status")...)
	for i := 1; i <= 2; i++ {
		if o.nats.Nodes[i] = o.nats.Again[i](); o.nats.Nodes[i] == nil {
			t.Fatalf("nats-server n%d does not start again", i+1)
		}
	}
	o.until(0, "cluster rondo is whole\n", "status", "--cluster", o.nats.URLs(), "--cluster-monitor", strings.Join(o.nats.Monitors(), ","))
	o.until(0, "cluster rondo is whole\n", by(o.a, "status")...)
	o.a.Stop(t)
}
