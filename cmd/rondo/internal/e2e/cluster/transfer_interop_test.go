//go:build !race

package cluster

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/query/dashboards"
)

// TestClusterInitExport takes a database into a cluster of real processes, is killed on the way and
// finishes, and gives a database back that is equal. The same samples afterwards give the same text
// on the single machine and through a node.
func TestClusterInitExport(t *testing.T) {
	nats := threeServers(t)
	dir := t.TempDir()
	single, back := filepath.Join(dir, "single"), filepath.Join(dir, "back")
	const series = 300
	var script strings.Builder
	for i := range series {
		fmt.Fprintf(&script, "create host%d/load/%d --start 1000000000 --step 10 DS:a:GAUGE:30:U:U DS:b:DERIVE:30:0:U RRA:AVERAGE:0.5:1:40 RRA:MAX:0.5:4:20 RRA:HWPREDICT:60:0.1:0.0035:12\n", i%5, i)
		for round := 1; round <= 12; round++ {
			fmt.Fprintf(&script, "update host%d/load/%d %d:%d.5:%d\n", i%5, i, 1000000000+11*round, i*round%17, round*i)
		}
	}
	pipe(t, single, script.String())
	if err := errors.Join(dashboards.In(single).Keep("web", "title: Web\n"), dashboards.In(single).Keep("taken", "title: of one machine\n")); err != nil {
		t.Fatal(err)
	}
	nodes := make(map[string]*rondotest.Daemon)
	for _, name := range []string{"a", "b"} {
		nodes[name] = rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", nats.URLs(), "--cluster-monitor", strings.Join(nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M")
	}
	if code, body := asks(t, nodes["a"], "SaveDashboard", map[string]string{"name": "taken", "text": "title: of the cluster\n"}); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	reach := []string{"--cluster", nats.URLs()}
	first := exec.Command("rondo", append([]string{"cluster", "init", "--from", single}, reach...)...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*time.Second, func() { _ = first.Process.Kill() }) // wherever it is then
	_ = first.Wait()                                                   // it may be killed
	if out, err := exec.Command("rondo", append([]string{"cluster", "init", "--from", single}, reach...)...).CombinedOutput(); err != nil {
		t.Fatalf("init: %v: %s", err, out)
	}
	awaits(t, []*rondotest.Daemon{nodes["b"]}, "of the cluster", "Web")
	out := done(t, "cluster", "init", "--from", single, "--cluster", nats.URLs())
	if !strings.Contains(out, "the cluster has it all: 300 series") {
		t.Errorf("init of a cluster that has it all: %s", out)
	}
	digest := regexp.MustCompile("digest [0-9a-f]{32}")
	given := digest.FindString(out)
	out = done(t, "cluster", "export", "--to", back, "--cluster", nats.URLs())
	if got := digest.FindString(out); given == "" || got != given {
		t.Errorf("%s went in, and came back as %s", given, out)
	}
	if list, err := dashboards.In(back).List(); err != nil || !slices.Equal(list, []dashboards.Entry{{Name: "taken", Title: "of the cluster"}, {Name: "web", Title: "Web"}}) {
		t.Errorf("dashboards came back as %v, %v", list, err)
	}
	if out, err := exec.Command("rondo", "check", "--db", back).CombinedOutput(); err != nil {
		t.Errorf("check: %v: %s", err, out)
	}
	for _, i := range []int{0, 1, 150, 299} {
		path := fmt.Sprintf("host%d/load/%d", i%5, i)
		var texts []string
		for _, target := range [][]string{{"--db", single}, {"--db", back}, {"--daemon", nodes["a"].URL}, {"--daemon", nodes["b"].URL}} {
			done(t, append([]string{"update", path, fmt.Sprintf("1000000150:%d.25:%d", i, 1000*i), "1000000163:U:7", "1000000200:3:9000000"}, target...)...)
			if target[0] == "--daemon" && target[1] == nodes["a"].URL {
				break // the others have it from there
			}
		}
		for _, target := range [][]string{{"--db", single}, {"--db", back}, {"--daemon", nodes["a"].URL}, {"--daemon", nodes["b"].URL}} {
			want := "1000000190"
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
				text := done(t, append([]string{"dump", path}, target...)...)
				if strings.Contains(text, want) || time.Now().After(deadline) {
					texts = append(texts, text)
					break
				}
			}
		}
		for k, text := range texts {
			if text != texts[0] {
				t.Errorf("%s: %d differs:\n%s\n%s", path, k, texts[0], text)
			}
		}
	}
	for _, d := range nodes {
		d.Stop(t)
	}
}

// done runs a command, which must succeed, and returns what it prints.
func done(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("rondo", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("rondo %q: %v: %s", args, err, out)
	}
	return string(out)
}

// pipe runs commands in pipe mode, which must all succeed.
func pipe(t *testing.T, db, commands string) {
	t.Helper()
	cmd := exec.Command("rondo", "--db", db, "-")
	cmd.Stdin = strings.NewReader(commands)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "ERROR") {
		t.Fatalf("%v: %.2000s", err, out)
	}
}
