//go:build !race

package cluster

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// A gap is the time between two acknowledged writes of one writer, the longest one.
type gaps struct {
	mu     sync.Mutex // guards what follows
	most   time.Duration
	writes int
	failed []string
}

func (g *gaps) took(d time.Duration, failed string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = max(g.most, d)
	g.writes++
	if failed != "" {
		g.failed = append(g.failed, failed)
	}
}

// reset begins anew, and returns what there was.
func (g *gaps) reset() (most time.Duration, writes int, failed []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	most, writes, failed = g.most, g.writes, g.failed
	g.most, g.writes, g.failed = 0, 0, nil
	return most, writes, failed
}

// write writes samples of one series through one node after the other, one at a time, until done is
// closed. A sample that is refused as late was not stored: each is sent once.
func (g *gaps) write(done <-chan struct{}, through func() []string, path string) {
	client := &http.Client{Timeout: time.Minute}
	last := time.Now()
	for at := int64(1000000010); ; at += 10 {
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		urls := through()
		body := fmt.Sprintf(`{"samples":[{"path":%q,"update":"%d:1"}]}`, path, at)
		r, err := client.Post(urls[int(at/10)%len(urls)]+"/rondo.v1.Rondo/Write", "application/json", strings.NewReader(body))
		failed := ""
		if err != nil {
			failed = err.Error()
		} else {
			b, _ := io.ReadAll(r.Body) // a status says enough
			_ = r.Body.Close()
			if r.StatusCode != http.StatusOK || !bytes.Contains(b, []byte("accepted")) {
				failed = r.Status + " " + string(b)
			}
		}
		now := time.Now()
		g.took(now.Sub(last), failed)
		last = now
	}
}

// TestFailOver kills the node that leads a partition while others write through the other nodes: no
// write fails. RONDO_FAILOVERS=20 repeats it, each time when all replicas are current again, and
// prints how long writers waited, also after a server of NATS was killed (nats), both were (both),
// or the node was stopped and continued (stop):
//
//	RONDO_FAILOVERS=20 RONDO_FAILOVER=kill,nats,both,stop \
//		go test -run TestFailOver -v -timeout 2h ./cmd/rondo
func TestFailOver(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("RONDO_FAILOVERS"))
	pause := 25 * time.Second // longer than any writer waits
	if rounds == 0 {
		pause = 10 * time.Second
	}
	modes := strings.Split(os.Getenv("RONDO_FAILOVER"), ",")
	if modes[0] == "" {
		modes = []string{"kill"}
	}
	nats := threeServers(t)
	const series = 8
	dir := t.TempDir()
	names := []string{"a", "b", "c"}
	start := func(name, listen string) *rondotest.Daemon {
		return rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", nats.URLs(), "--cluster-monitor", strings.Join(nats.Monitors(), ","),
			"--cluster-listen", listen, "--cluster-partitions", "4", "--cluster-log", "64M")
	}
	began := time.Now()
	nodes := make(map[string]*rondotest.Daemon)
	var starting sync.WaitGroup
	var mu sync.Mutex // guards nodes and away
	for _, name := range names {
		starting.Go(func() {
			d := start(name, "127.0.0.1:0")
			mu.Lock()
			defer mu.Unlock()
			nodes[name] = d
		})
	}
	starting.Wait()
	for i := range series {
		eventually(t, "create", nodes["a"], "create", fmt.Sprintf("s/%d", i), "--start", "1000000000", "--step", "10", "DS:x:GAUGE:1000:U:U", "RRA:AVERAGE:0.5:1:200")
	}
	t.Logf("a new cluster took its first series after %v", time.Since(began).Round(100*time.Millisecond))
	away := ""
	through := func() (urls []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range names {
			if name != away {
				urls = append(urls, nodes[name].URL)
			}
		}
		return urls
	}
	leads := func(name string) int {
		for line := range strings.Lines(metricsOf(t, nodes[name])) {
			if v, ok := strings.CutPrefix(line, "rondo_cluster_leads "); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(v))
				return n
			}
		}
		return 0
	}
	// whole says that all replicas are current, as each node sees it: a node that was killed is back.
	whole := func() bool {
		for _, name := range names {
			out, err := exec.Command("rondo", "cluster", "partitions", "--wrong", "-o", "jsonl", "--daemon", nodes[name].URL).Output()
			if err != nil || len(out) > 0 {
				return false
			}
		}
		return true
	}
	settle := func(name string) {
		for deadline := time.Now().Add(2 * time.Minute); leads(name) == 0 || !whole(); time.Sleep(200 * time.Millisecond) {
			if time.Now().After(deadline) {
				for _, other := range names {
					for line := range strings.Lines(metricsOf(t, nodes[other])) {
						if strings.HasPrefix(line, "rondo_cluster_") {
							t.Logf("%s: %s", other, strings.TrimSpace(line))
						}
					}
				}
				t.Fatalf("%s leads no partition, or replicas are not current", name)
			}
		}
	}
	var g gaps
	done := make(chan struct{})
	var writers sync.WaitGroup
	defer writers.Wait()
	defer close(done)
	for _, name := range names {
		settle(name)
	}
	mu.Lock()
	away = names[0]
	mu.Unlock()
	for i := range series {
		writers.Go(func() { g.write(done, through, fmt.Sprintf("s/%d", i)) })
	}
	for _, mode := range modes {
		var all []time.Duration
		bad := 0
		for round := range max(rounds, 1) {
			victim := names[round%len(names)]
			settle(victim)
			mu.Lock()
			away = victim
			mu.Unlock()
			time.Sleep(time.Second) // calls through the victim come to their end
			g.reset()
			d := nodes[victim]
			if mode == "nats" || mode == "both" {
				nats.Nodes[round%3].Kill()
			}
			switch mode {
			case "kill", "both":
				d.Kill(t)
			case "stop":
				if err := d.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(pause)
			most, writes, failed := g.reset()
			all = append(all, most)
			bad += len(failed)
			t.Logf("%s of %s: longest wait %v, %d writes, %d failed %.300q", mode, victim, most.Round(10*time.Millisecond), writes, len(failed), failed[:min(len(failed), 2)])
			if mode == "nats" || mode == "both" {
				if nats.Nodes[round%3] = nats.Again[round%3](); nats.Nodes[round%3] == nil {
					t.Fatal("a nats-server did not start again")
				}
			}
			switch mode {
			case "kill", "both":
				d = start(victim, "127.0.0.1:0")
				mu.Lock()
				nodes[victim] = d
				mu.Unlock()
			case "stop":
				if err := d.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
		}
		slices.Sort(all)
		t.Logf("%s: p50 %v, p99 %v, longest %v of %d; %d writes failed", mode, all[len(all)/2], all[(len(all)*99-1)/100], all[len(all)-1], len(all), bad)
		if bad > 0 {
			t.Errorf("%s: %d writes failed", mode, bad)
		}
	}
}
