//go:build !race

package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// threeServers starts three real nats-servers for a test that takes a minute or more. Only a run
// that asks for more has the time. The race detector makes minutes of it: it sees
// TestClusterSurvivesNode.
func threeServers(t *testing.T) *natstest.Cluster {
	t.Helper()
	if !seedtest.More() {
		t.Skip("it takes a minute or more: RONDO_PROGRAMS=1 runs it, as .ci/soak does")
	}
	return natstest.Three(t)
}

// An operatedCluster is three nodes, and how an operator reaches them.
type operatedCluster struct {
	t       *testing.T
	dir     string
	nats    *natstest.Cluster
	a, b, c *rondotest.Daemon
}

func operate(t *testing.T) *operatedCluster {
	t.Helper()
	o := &operatedCluster{t: t, dir: t.TempDir(), nats: threeServers(t)}
	start := func(name string) *rondotest.Daemon {
		return rondotest.Serve(t, filepath.Join(o.dir, name), "--node", name, "--cluster", o.nats.URLs(), "--cluster-monitor", strings.Join(o.nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M")
	}
	o.a, o.b, o.c = start("a"), start("b"), start("c")
	return o
}

// run runs rondo cluster, and returns what it prints and its exit code.
func (o *operatedCluster) run(args ...string) (string, int) {
	o.t.Helper()
	cmd := exec.Command("rondo", append([]string{"cluster"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		o.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// by returns arguments and the address of a node.
func by(d *rondotest.Daemon, args ...string) []string { return append(args, "--daemon", d.URL) }

// must runs a command that succeeds.
func (o *operatedCluster) must(args ...string) string {
	o.t.Helper()
	out, code := o.run(args...)
	if code != 0 {
		o.t.Fatalf("rondo cluster %q: exit code %d: %s", args, code, out)
	}
	return out
}

// until runs a command until it prints a text with an exit code.
func (o *operatedCluster) until(code int, text string, args ...string) string {
	o.t.Helper()
	return o.eventually(code, text, func(out string) bool { return strings.Contains(out, text) }, args...)
}

// eventually runs a command until what it prints is ok, with an exit code.
func (o *operatedCluster) eventually(code int, want string, ok func(out string) bool, args ...string) string {
	o.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		out, got := o.run(args...)
		if got == code && ok(out) {
			return out
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("rondo cluster %q: exit code %d, want %d and %q: %s", args, got, code, want, out)
		}
	}
}

// rows returns what a command prints as JSON.
func (o *operatedCluster) rows(args ...string) (rows []map[string]any) {
	o.t.Helper()
	out := o.must(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		o.t.Fatalf("rondo cluster %q: %v: %s", args, err, out)
	}
	return rows
}

// nodesOf returns the nodes with a replica of a partition, and its leader.
func (o *operatedCluster) nodesOf(partition int) (nodes []string, leader string) {
	o.t.Helper()
	for _, r := range o.rows(by(o.a, "partitions", fmt.Sprint(partition))...) {
		nodes = append(nodes, r["node"].(string))
		if r["state"] == "leads" {
			leader = r["node"].(string)
		}
	}
	return nodes, leader
}

// TestOperateCluster operates a cluster of three nodes over three real nats-servers: looks at it
// through nodes and without, moves replicas, lets others lead, compares, drains a node, and sees
// one die.
func TestOperateCluster(t *testing.T) {
	t.Parallel() // most of it is waiting
	o := operate(t)
	o.until(0, "is whole", by(o.a, "status")...)
	for i := range 12 {
		eventually(t, "create", o.b, "create", fmt.Sprintf("s/%d", i), "--start", "1000000000", "--step", "10", "DS:x:GAUGE:1000:U:U", "RRA:AVERAGE:0.5:1:50")
		eventually(t, "update", o.b, "update", fmt.Sprintf("s/%d", i), "1000000010:1")
	}
	// What has moved since the nodes came is to have ended.
	o.until(0, `"moves": 0`, by(o.a, "status", "-o", "json")...)

	direct := []string{"--cluster", o.nats.URLs()}
	for _, way := range [][]string{{"--db", filepath.Join(o.dir, "b")}, {"--daemon", o.c.URL}, direct} {
		if out := o.until(0, "cluster rondo is whole", append([]string{"status"}, way...)...); !strings.Contains(out, "3 of 3 partitions have a leader, 6 of 6 replicas are current, 3 of 3 nodes live") {
			t.Errorf("%q: %s", way, out)
		}
		nodes := o.rows(append([]string{"nodes"}, way...)...)
		if len(nodes) != 3 || nodes[1]["node"] != "b" || nodes[1]["state"] != "live" || nodes[1]["started"] == "" {
			t.Errorf("%q: %v", way, nodes)
		}
		if parts := o.rows(append([]string{"partitions"}, way...)...); len(parts) != 6 || parts[0]["stream"] != "rondo-rondo-p0" {
			t.Errorf("%q: %v", way, parts)
		}
	}
	o.mistakes(direct)
	o.move()
	o.check()
	o.shown()
	o.drain(direct)
	o.die(direct)
	for _, d := range []*rondotest.Daemon{o.a, o.b} {
		d.Stop(t)
	}
}

func (o *operatedCluster) mistakes(direct []string) {
	nodes, _ := o.nodesOf(0)
	for _, x := range []struct {
		args []string
		code int
		text string
	}{
		{by(o.a, "move", "3", "a", "b"), 1, "ERROR: there is no partition 3: the cluster has 0 to 2"},
		{by(o.a, "partitions", "3"), 1, "ERROR: there is no partition 3: the cluster has 0 to 2"},
		{by(o.a, "move", "0", "x", "b"), 1, `ERROR: there is no node "x": the cluster has a, b, c`},
		{by(o.a, "move", "0", nodes[0], nodes[1]), 1, "ERROR: node " + nodes[1] + " has a replica of partition 0 already"},
		{append([]string{"move", "--release", "7"}, direct...), 1, "ERROR: there is no partition 7"},
		{append([]string{"status", "--cluster-name", "other"}, direct...), 1, "the servers have no cluster other"},
		{by(o.a, "drain", "nosuch"), 1, `ERROR: there is no node "nosuch"`},
		{by(o.a, "drain", "--forget", "a"), 1, "ERROR: node a lives: stop it first"},
		{append([]string{"check"}, direct...), 2, "unknown flag: --cluster"},
		{by(o.a, "status", "--cluster-monitor", "http://127.0.0.1:8222"), 2, "--cluster-monitor is for --cluster: a node knows the monitoring ports"},
	} {
		if out, code := o.run(x.args...); code != x.code || !strings.Contains(out, x.text) {
			o.t.Errorf("rondo cluster %q: exit code %d, want %d and %q: %s", x.args, code, x.code, x.text, out)
		}
	}
}

func (o *operatedCluster) move() {
	t := o.t
	nodes, _ := o.nodesOf(0)
	to := "a"
	for slices.Contains(nodes, to) {
		to = string(to[0] + 1)
	}
	o.must(by(o.a, "move", "0", nodes[1], to, "--wait", "--timeout", "2m")...)
	if now, _ := o.nodesOf(0); !slices.Contains(now, to) || slices.Contains(now, nodes[1]) {
		t.Errorf("partition 0 is on %v, and was to move from %s to %s", now, nodes[1], to)
	}
	o.must(by(o.a, "move", "--lead", "0", to, "--wait", "--timeout", "2m")...)
	if _, leader := o.nodesOf(0); leader != to {
		t.Errorf("%s leads partition 0, not %s", leader, to)
	}
	if out := o.must(by(o.a, "partitions", "0")...); !strings.Contains(out, "held") {
		t.Errorf("partition 0 is not held: %s", out)
	}
	o.must("move", "--release", "0", "--cluster", o.nats.URLs())
}

// check compares all replicas while they are written.
func (o *operatedCluster) check() {
	t := o.t
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				// One that meets a change of the leader may fail.
				_ = exec.Command("rondo", "update", "--daemon", o.b.URL, fmt.Sprintf("s/%d", i%12), fmt.Sprintf("%d:%d", 1000001000+i, i)).Run()
			}
		}
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	if out := o.must(by(o.a, "check")...); !strings.Contains(out, "3 partitions, 6 replicas: all the same\n") || strings.Count(out, "2 replicas at record ") != 3 {
		t.Errorf("check: %s", out)
	}
	rows := o.rows(by(o.c, "check", "1")...)
	if len(rows) != 2 || rows[0]["state"] != "same" || rows[0]["digest"] != rows[1]["digest"] || rows[0]["digest"] == "" || rows[1]["partition"].(float64) != 1 {
		t.Errorf("check 1: %v", rows)
	}
	if out, code := o.run(by(o.a, "check", "3")...); code != 1 || !strings.Contains(out, "ERROR: there is no partition 3: the cluster has 0 to 2") {
		t.Errorf("check 3: %d, %s", code, out)
	}
}

// shown looks at what the page and the metrics have.
func (o *operatedCluster) shown() {
	t := o.t
	r, err := http.Post(o.a.URL+"/rondo.v1.Rondo/Status", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r.Body)
	_ = r.Body.Close() // it was read
	var status struct {
		OwnPrefix string
		Cluster   struct {
			Name, Node string
			Partitions []struct{ Leader string }
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &status)
	}
	if c := status.Cluster; err != nil || c.Name != "rondo" || c.Node != "a" || len(c.Partitions) != 3 || status.OwnPrefix != "rondo/a" {
		t.Errorf("%v: %.300s", err, out)
	}
	metrics := metricsOf(t, o.a)
	for _, want := range []string{"\nrondo_cluster_whole ", `rondo_cluster_partition_position{partition="`, `rondo_cluster_partition_lag{partition="`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}

func (o *operatedCluster) drain(direct []string) {
	t := o.t
	out := o.must(by(o.a, "drain", "c", "--timeout", "2m")...)
	if !strings.Contains(out, "node c has no replica: it can be stopped") {
		t.Errorf("drain: %s", out)
	}
	for i := range 3 {
		if nodes, _ := o.nodesOf(i); slices.Contains(nodes, "c") || len(nodes) != 2 {
			t.Errorf("partition %d is on %v", i, nodes)
		}
	}
	if out, code := o.run(by(o.a, "drain", "b")...); code != 1 || !strings.Contains(out, "node b cannot be drained: partitions have 2 replicas, and could be on 1 other node (a); c is to leave, too") {
		t.Errorf("exit code %d: %s", code, out)
	}
	o.must(append([]string{"drain", "--undo", "c"}, direct...)...)
	o.until(0, "c     live", by(o.a, "nodes")...)
	done, err := exec.Command("rondo", "__complete", "cluster", "drain", "--daemon", o.a.URL, "").Output()
	if err != nil || !strings.Contains(string(done), "c\tlive\n") {
		t.Errorf("completion: %v: %s", err, done)
	}
}

func (o *operatedCluster) die(direct []string) {
	o.c.Kill(o.t)
	for _, way := range [][]string{{"--daemon", o.a.URL}, direct} {
		o.until(1, "node c has been silent for", append([]string{"status"}, way...)...)
	}
	rows := o.rows(by(o.a, "nodes")...)
	if rows[2]["state"] != "silent" || rows[2]["silent_seconds"].(float64) < 6 {
		o.t.Errorf("%v", rows)
	}
	// The updates go on, and the node is drained although it is dead.
	eventually(o.t, "update", o.b, "update", "s/1", "1000900000:1")
	o.must(by(o.b, "drain", "c", "--timeout", "2m")...)
	o.until(0, "forgotten", by(o.b, "drain", "--forget", "c")...)
	o.until(0, "2 of 2 nodes live", by(o.a, "status")...)
}
