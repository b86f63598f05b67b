package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// A harness is a cluster with those that write and those that break.
type harness struct {
	t      *testing.T
	began  time.Time
	c      *localcluster.Cluster
	rondo  string // the program
	counts counts
	random *rand.Rand
	disks  *disks              // nil: ordinary folders
	links  map[[2]string]*link // by the names of processes, from and to; "": all that reach a node
	spoilt int                 // disks
}

func (h *harness) logf(format string, args ...any) {
	h.t.Logf("%7.1fs %s", time.Since(h.began).Seconds(), fmt.Sprintf(format, args...))
}

// TestChaos breaks a cluster for as long as RONDO_CHAOS says, in rounds of three minutes at most.
// After each round everything is mended, and what is stored is compared with what was acknowledged.
func TestChaos(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("RONDO_CHAOS"))
	if err != nil {
		t.Skip("RONDO_CHAOS does not say for how long (RONDO_CHAOS=90s)")
	}
	nats, err := localcluster.FindNATS()
	if err != nil {
		rrdtooltest.Lacks(t, err)
	}
	random := seedtest.Rand(t)
	// Not t.TempDir: what a failed run has left is worth looking at.
	dir, err := os.MkdirTemp("", "rondo-chaos")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, began: time.Now(), random: random, links: make(map[[2]string]*link)}
	if h.rondo, err = localcluster.BuildRondo(dir); err != nil {
		t.Fatal(err)
	}
	o := localcluster.Options{Dir: dir, Rondo: h.rondo, NATS: nats, Partitions: 6, Replicas: 2 + random.IntN(2), Node: h.nodeFlags(dir), Link: h.link}
	h.disks = newDisks(t, dir, random.Uint64())
	if h.disks != nil {
		o.Disk, o.ServerDisk = h.disks.folder, h.disks.serverFolder
	}
	if h.c, err = localcluster.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.c.Close()
		for _, l := range h.links {
			l.close()
		}
		if err := h.disks.close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("logs and folders are in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, p := range append(h.c.Servers[:], h.c.Nodes[:]...) {
		p.Keep()
	}
	if err := h.c.Start(); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.logf("three servers and three nodes run; 6 partitions, %d replicas", o.Replicas)
	peers := h.startPeers()
	for end, round := time.Now().Add(lasts), 0; time.Now().Before(end) && !t.Failed(); round++ {
		if round > 0 {
			h.spoil()
		}
		h.round(round, min(3*time.Minute, max(20*time.Second, time.Until(end))), peers)
		t.Logf("after round %d:\n%s", round, &h.counts)
	}
	for _, p := range append(h.c.Servers[:], h.c.Nodes[:]...) {
		if n := p.Exits(); n > 0 {
			t.Logf("%s has ended by itself %d times; the lines of its log without a level, the first ones:\n%s", p.Name, n, lastWords(p.Log))
		}
	}
}

// link puts a link between two processes.
func (h *harness) link(from, to, addr string) (string, error) {
	l, err := newLink(addr)
	if err != nil {
		return "", err
	}
	h.links[[2]string{from, to}] = l
	return l.addr(), nil
}

// waitReady waits until a node answers that it is ready.
func (h *harness) waitReady(ctx context.Context, i int) error {
	for {
		r, err := http.Get(h.c.HTTP[i] + "/-/ready")
		if err == nil {
			_ = r.Body.Close() // the code says all
			if r.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(r.Status)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s does not become ready (its log is %s): %w", h.c.Nodes[i].Name, h.c.Nodes[i].Log, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lastWords returns lines of a log that are no log lines, as those with which a process ends.
func lastWords(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	var words []string
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "level=") && !strings.HasPrefix(line, "[") && len(words) < 40 {
			words = append(words, line[:min(len(line), 500)])
		}
	}
	return strings.Join(words, "")
}

// nodeFlags returns the flags of nodes beside the cluster's.
func (h *harness) nodeFlags(dir string) func(int) []string {
	file := filepath.Join(dir, "rondo.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `
policy:
  - path: prometheus/**
    step: 1s
    heartbeat: 1d
    archives: ["RRA:AVERAGE:0:1:%[1]d"]
  - path: collectd/**
    step: 1s
    heartbeat: 1h
    archives: ["RRA:AVERAGE:0.5:1:%[1]d"]
`, maxSamples+10), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return func(int) []string {
		return []string{"--config", file, "--remotewrite-step", "1", "--remotewrite-round", "never"}
	}
}

// maxSamples is how many samples each series gets in a round, at most.
const maxSamples = 20_000

// giveUp is how long a cluster whose faults are over may take until it takes everything again. It is
// long because the machine may be busy with other things.
const giveUp = 5 * time.Minute

// senders returns the senders of a round, with series of their own: RONDO_SENDERS of each protocol,
// 4 if that is not set.
func (h *harness) senders(round int) (all []*sender) {
	n := 4
	if s := os.Getenv("RONDO_SENDERS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			h.t.Fatalf("RONDO_SENDERS is %q, want how many senders each protocol has", s)
		}
	}
	start := time.Now().Unix()/1000*1000 - 30*24*3600
	for i := range n {
		kind := i % 4
		name := fmt.Sprintf("r%d/rrdcached%d", round, i)
		all = append(all, &sender{name: name, node: i % localcluster.Machines, most1: 1 + kind, door: newRRDCachedDoor(h.c.RRDCached, name, 4+4*kind, start, maxSamples)})
		name = fmt.Sprintf("r%d-remotewrite%d", round, i)
		all = append(all, &sender{name: name, node: (i + 1) % localcluster.Machines, most1: 1 + 2*kind, door: newRemoteWriteDoor(h.c.HTTP, name, 4+4*kind, start)})
	}
	for _, s := range all {
		s.most, s.pause, s.random = maxSamples-10, time.Millisecond, rand.New(rand.NewPCG(h.random.Uint64(), 0))
	}
	return all
}

// round breaks the cluster for a time, while senders send, and then compares.
func (h *harness) round(n int, lasts time.Duration, peers *peers) {
	plan := newPlan(h.random, lasts, h.disks != nil)
	h.logf("round %d, %v:\n%s", n, lasts, text(plan))
	stop, stopSending := context.WithCancel(h.t.Context())
	defer stopSending()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var sending sync.WaitGroup
	senders := h.senders(n)
	for _, s := range senders {
		sending.Go(func() {
			if err := s.run(ctx, stop, &h.counts); err != nil {
				h.t.Error(err)
			}
		})
	}
	h.carryOut(h.t.Context(), plan)
	h.enableAll()
	h.logf("all is mended")
	pause(ctx, 2*time.Second)
	stopSending()
	late := time.AfterFunc(giveUp, cancel)
	sending.Wait()
	late.Stop()
	h.settle()
	h.logf("all senders have got their last acknowledgement")
	for _, s := range senders {
		h.compare(s)
	}
	peers.compare(h)
	h.compareAll()
	h.check()
	h.counts.mu.Lock()
	defer h.counts.mu.Unlock()
	for _, p := range h.counts.problems {
		h.t.Error(p)
	}
}

// settle waits until all nodes are there, all partitions have leaders, and no replica is behind.
func (h *harness) settle() {
	ctx, cancel := context.WithTimeout(h.t.Context(), giveUp)
	defer cancel()
	for i := range localcluster.Machines {
		if err := h.waitReady(ctx, i); err != nil {
			h.t.Fatal(err)
		}
	}
	for {
		var wrong []string
		for i := range localcluster.Machines {
			m := h.c.Metrics(i)
			if m["rondo_cluster_nodes"] != localcluster.Machines || m["rondo_cluster_partitions_without_leader"] != 0 || m["rondo_cluster_replicas_halted"] != 0 ||
				m["rondo_cluster_records_behind"] != 0 || m["rondo_cluster_log_servers_missing"] != 0 || m["rondo_cluster_leads"] == 0 {
				wrong = append(wrong, fmt.Sprintf("%s: %v", h.c.Nodes[i].Name, m))
			}
		}
		if len(wrong) == 0 {
			return
		}
		if ctx.Err() != nil {
			h.t.Fatalf("the cluster does not come to rest: %q", wrong)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// ask runs a command through a node until it succeeds, and returns what it prints.
func (h *harness) ask(node int, args ...string) string {
	args = append([]string{args[0], "--daemon", h.c.HTTP[node]}, args[1:]...)
	for deadline := time.Now().Add(giveUp); ; time.Sleep(200 * time.Millisecond) {
		out, err := exec.Command(h.rondo, args...).CombinedOutput()
		if err == nil {
			return string(out)
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("rondo %v: %v: %s", args, err, out)
		}
	}
}
