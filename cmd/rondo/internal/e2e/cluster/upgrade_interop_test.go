//go:build !race

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/localcluster"
)

// TestClusterRollingUpgrade replaces the program of one node after the other while samples are
// sent, and goes back with one. Nothing that was acknowledged is lost, and nodes of both programs
// give the same text. RONDO_OLD names the older program; without it, it is a build of this tree.
func TestClusterRollingUpgrade(t *testing.T) {
	t.Parallel() // most of it is waiting
	nats := threeServers(t)
	dir := t.TempDir()
	old := os.Getenv("RONDO_OLD")
	if old == "" {
		var err error
		if old, err = localcluster.BuildRondo(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	const series = 6
	nodes := make(map[string]*rondotest.Daemon)
	start := func(name, program string) {
		nodes[name] = rondotest.ServeProgram(t, program, filepath.Join(dir, name), "--node", name, "--cluster", nats.URLs(), "--cluster-monitor", strings.Join(nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M")
	}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		start(name, old)
	}
	for i := range series {
		eventually(t, "create", nodes["a"], "create", fmt.Sprintf("s/%d", i), "--start", "1000000000", "--step", "10", "DS:x:GAUGE:1000:U:U", "RRA:AVERAGE:0.5:1:200")
	}
	acknowledged := make(map[string][]int)
	round := 0
	send := func(through string) {
		round++
		for i := range series {
			name := fmt.Sprintf("s/%d", i)
			out, err := exec.Command("rondo", "update", "--daemon", nodes[through].URL, name, fmt.Sprintf("%d:%d", 1000000000+10*round, round)).CombinedOutput()
			switch {
			case err == nil:
				acknowledged[name] = append(acknowledged[name], round)
			case !strings.Contains(string(out), "try again"):
				t.Errorf("round %d through %s: update %s: %v: %s", round, through, name, err, out)
			}
		}
	}
	for i, name := range append(names, "a") { // and back again
		program := "rondo"
		if i == len(names) {
			program = old
		}
		other := names[(i+1)%len(names)]
		untilWhole(t, nodes[other].URL) // as docs/cluster.md has it
		send(name)
		if err := nodes[name].Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		send(other)
		<-nodes[name].Done
		if err := nodes[name].Cmd.Wait(); err != nil {
			t.Errorf("%s after SIGTERM: %v\n%s", name, err, nodes[name].Log.String())
		}
		send(other)
		start(name, program)
		eventually(t, "update", nodes[name], "update", "s/0", fmt.Sprintf("%d:%d", 1000000000+10*(round+1), round+1))
		round++
		acknowledged["s/0"] = append(acknowledged["s/0"], round)
	}
	for i := range series {
		name := fmt.Sprintf("s/%d", i)
		for _, through := range names {
			var text, missing string
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
				text, missing = eventually(t, "fetch", nodes[through], "fetch", name, "AVERAGE", "--start", "1000000000", "--end", "1000000500"), ""
				for _, r := range acknowledged[name] {
					if want := fmt.Sprintf("%d: %.10e", 1000000000+10*r, float64(r)); !strings.Contains(text, want) {
						missing = want
					}
				}
				if missing == "" || time.Now().After(deadline) {
					break
				}
			}
			if missing != "" {
				t.Errorf("%s through %s lacks %q:\n%s", name, through, missing, text)
			}
		}
		if n := len(acknowledged[name]); n < 8 {
			t.Errorf("%s: only %d of %d updates were acknowledged", name, n, round)
		}
	}
	for _, d := range nodes {
		d.Stop(t)
	}
}

// untilWhole waits until a cluster is whole.
func untilWhole(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out, err := exec.Command("rondo", "cluster", "status", "--daemon", url).CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster does not become whole: %v: %s", err, out)
		}
	}
}
