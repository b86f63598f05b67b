package cluster

import (
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
)

// TestClusterSurvivesNode runs three servers as nodes over three real nats-servers. The one that
// evaluates the rules is killed while updates are sent through the others, and comes back. Every
// update that was acknowledged is in the answers of all nodes, which are the same text. Senders that
// go round over the nodes have filled their series as on one machine. Alerts fire since the same
// time, and all nodes have the same dashboards.
func TestClusterSurvivesNode(t *testing.T) {
	t.Parallel() // most of it is waiting
	nats := natstest.Three(t)
	const series = 4
	dir, hook := t.TempDir(), newHook(t)
	start := func(name string) *rondotest.Daemon {
		return rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", nats.URLs(), "--cluster-monitor", strings.Join(nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "4", "--cluster-log", "64M", "--rrdcached", "127.0.0.1:0",
			"--rule-file", rulesOf(t, dir, name), "--alert-webhook", hook.URL)
	}
	others := newBalanced(t, rondotest.Serve(t, filepath.Join(dir, "one"), "--rrdcached", "127.0.0.1:0"))
	nodes := []*rondotest.Daemon{start("a"), start("b"), start("c")}
	for i := range series {
		eventually(t, "create", nodes[0], "create", fmt.Sprintf("s/%d", i), "--start", "1000000000", "--step", "10", "DS:x:GAUGE:1000:U:U", "RRA:AVERAGE:0.5:1:200")
	}
	first := evaluates(t, nodes)
	since := firesSince(t, first, "Always", nodes...)
	firesSince(t, nodes[2], "OfC")
	// The replicas spread first, so that the node that is killed has some.
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(metricsOf(t, first), `rondo_cluster_leads `) || strings.Contains(metricsOf(t, first), "rondo_cluster_leads 0\n"); {
		if time.Now().After(deadline) {
			t.Fatal("the node that is to be killed leads no partition")
		}
		time.Sleep(50 * time.Millisecond)
	}
	k := slices.Index(nodes, first)
	two := slices.Delete(slices.Clone(nodes), k, k+1)
	saveDashboards(t, first, two[0], two[1])

	acknowledged, refused := make(map[string]int), 0
	send := func(through *rondotest.Daemon, round int) {
		for i := range series {
			name := fmt.Sprintf("s/%d", i)
			out, err := exec.Command("rondo", "update", "--daemon", through.URL, name, fmt.Sprintf("%d:%d", 1000000000+10*round, round)).CombinedOutput()
			switch {
			case err == nil:
				acknowledged[name] = round
			case strings.Contains(string(out), "try again"):
				refused++
			case strings.Contains(string(out), "minimum one second step"): // it was refused, and stored all the same
				acknowledged[name] = round
			default:
				t.Fatalf("update %s: %v: %s", name, err, out)
			}
		}
	}
	for round := 1; round <= 5; round++ {
		send(nodes[round%3], round)
		others.send(nodes...)
	}
	others.compare(nodes...)
	ready, back, reading := make(chan struct{}), make(chan struct{}), make(chan struct{})
	reader := *others
	go func() {
		defer close(reading)
		answers, failed := reader.read(ready, back, two...)
		t.Logf("%d questions were answered, and %d not, while a node was away: %.300q", answers, len(failed), failed[:min(len(failed), 1)])
	}()
	<-ready
	first.Kill(t)
	for round := 6; round <= 13; round++ {
		send(two[round%2], round)
		others.send(two...)
	}
	t.Logf("%d of %d updates were refused while partitions had no leader", refused, 13*series)
	for i := range series { // the last ones are not to be among them
		eventually(t, "update", two[1], "update", fmt.Sprintf("s/%d", i), "1000000500:50")
	}
	if second := evaluates(t, two); firesSince(t, second, "Always") != since {
		t.Errorf("it fires since %s, and on another node since %s", since, firesSince(t, second, "Always"))
	}
	hook.wantOnce(t, "Always")
	dropDashboard(t, first.DB, two[0], two[1])
	nodes[k] = start(filepath.Base(first.DB))
	close(back)
	<-reading
	for range 4 {
		others.send(nodes...)
	}
	others.compare(nodes...)
	awaits(t, nodes, "of a node", "stays", "Another")
	for i := range series {
		name := fmt.Sprintf("s/%d", i)
		var texts [3]string
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			for j, d := range nodes {
				texts[j] = eventually(t, "fetch", d, "fetch", name, "AVERAGE", "--start", "1000000000", "--end", "1000000500")
			}
			if texts[0] == texts[1] && texts[1] == texts[2] && strings.Contains(texts[0], "1000000500: 5.0000000000e+01") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s through a:\n%s\nb:\n%s\nc:\n%s", name, texts[0], texts[1], texts[2])
			}
		}
		if want := fmt.Sprintf("%d: %.10e", 1000000000+10*acknowledged[name], float64(acknowledged[name])); acknowledged[name] < 5 || !strings.Contains(texts[0], want) {
			t.Errorf("%s: acknowledged up to round %d:\n%s", name, acknowledged[name], texts[0])
		}
	}
	nodes[2].Stop(t)
	nodes[0].Stop(t)
	withoutServers(t, nats, nodes[1])
}

// metricsOf returns the metrics of a server.
func metricsOf(t *testing.T, d *rondotest.Daemon) string {
	t.Helper()
	r, err := http.Get(d.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it was read
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eventually runs a command through a server until it succeeds, and returns what it prints.
func eventually(t *testing.T, what string, through *rondotest.Daemon, args ...string) string {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := exec.Command("rondo", append([]string{args[0], "--daemon", through.URL}, args[1:]...)...).CombinedOutput()
		if err == nil {
			return string(out)
		}
		if !strings.Contains(string(out), "try again") || time.Now().After(deadline) {
			_ = through.Cmd.Process.Kill() // it may have ended; its log says why
			<-through.Done
			t.Fatalf("%s: %v: %s\n%s", what, err, out, through.Log.String())
		}
	}
}
