package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// patience bounds each step. Machines may be slow.
const patience = 3 * time.Minute

// A show is what happens, and is printed.
type show struct {
	c     *localcluster.Cluster
	rondo string // the program
	pause time.Duration
	began time.Time
}

// names of the nodes.
var names = [localcluster.Machines]string{"a", "b", "c"}

// rooms are the series: enough for each partition to have some.
var rooms = []string{"office/temperature", "hall/temperature", "cellar/temperature", "roof/temperature", "kitchen/temperature", "garage/temperature"}

func (s *show) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// play does everything up to the point where the cluster is left running.
func (s *show) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.start, s.create, s.write, s.kill, s.comeBack} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *show) start(ctx context.Context) error {
	s.say("Starting three servers of NATS, which keep the logs, and three nodes of rondo: a, b and c.")
	if err := s.c.Start(); err != nil {
		return err
	}
	if err := s.until(ctx, "the cluster comes up", func() bool { return s.settled(0, 1, 2) }); err != nil {
		return err
	}
	s.say("The cluster is up. It has 4 partitions, each on two of the three nodes. %s", s.leaders(0, 1, 2))
	return nil
}

func (s *show) create(ctx context.Context) error {
	args := []string{"--step", "1s", "DS:celsius:GAUGE:10m:U:U", "RRA:AVERAGE:0.5:1s:1h"}
	for i, room := range rooms {
		if out, err := s.command(ctx, i%3, "create", append([]string{room}, args...)...); err != nil {
			return fmt.Errorf("create %s: %w: %s", room, err, out)
		}
	}
	s.say("Made %d series, some through each node: %s", len(rooms), strings.Join(rooms, ", "))
	return nil
}

// An update is what became of one update.
type update struct {
	room string
	node int
	took time.Duration
	err  error
}

// feed sends an update of a series to a node every now and then, until ctx ends.
func (s *show) feed(ctx context.Context, told func(update), nodes ...int) {
	if nodes == nil {
		nodes = []int{0, 1, 2}
	}
	for n := 0; ctx.Err() == nil; n++ {
		u := update{room: rooms[n%len(rooms)], node: nodes[n%len(nodes)]}
		began := time.Now()
		u.err = s.update(ctx, u.node, u.room)
		if u.took = time.Since(began); ctx.Err() == nil {
			told(u)
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.pause):
		}
	}
}

func (s *show) update(ctx context.Context, node int, room string) error {
	value := 20 + 3*math.Sin(float64(time.Now().UnixMilli())/20_000)
	out, err := s.command(ctx, node, "update", room, fmt.Sprintf("N:%.2f", value))
	if err != nil && strings.Contains(out, "minimum one second step") {
		return nil // the series has a value of this second
	}
	if err != nil {
		return fmt.Errorf("%s", strings.TrimSpace(out))
	}
	return nil
}

// manyUpdates are enough to see that each node takes updates of each series.
const manyUpdates = 20

// write writes for a while.
func (s *show) write(ctx context.Context) error {
	s.say("Writing to all three nodes in turn: each takes updates of every series, and the leader of its partition stores it.")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, failed := 0, error(nil)
	s.feed(ctx, func(u update) {
		if n++; u.err != nil {
			failed = fmt.Errorf("update of %s through %s: %w", u.room, names[u.node], u.err)
		}
		if n == manyUpdates || failed != nil {
			cancel()
		}
	})
	if failed != nil {
		return failed
	}
	s.say("%d updates are stored, each by the majority of the servers.", n)
	return nil
}

// kill kills a node that leads, and writes to the others until all partitions have leaders again.
func (s *show) kill(ctx context.Context) error {
	const b = 1
	s.say("Killing node b with SIGKILL, as a loss of power would. It leads %.0f of the partitions.", s.c.Metrics(b)["rondo_cluster_leads"])
	s.c.Nodes[b].Kill()
	killed := time.Now()
	s.say("Writing goes on through a and c. Updates of a partition without a leader wait.")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	led, n := false, 0
	var longest time.Duration
	s.feed(ctx, func(u update) {
		longest = max(longest, u.took)
		switch {
		case u.err != nil:
			s.say("%s through %s was refused after %.1f s: %v", u.room, names[u.node], u.took.Seconds(), u.err)
			return
		case u.took > time.Second:
			s.say("%s through %s waited for %.1f s and is stored.", u.room, names[u.node], u.took.Seconds())
		}
		if n++; !led && s.settled(0, 2) {
			led, n = true, 0
			s.say("All partitions have leaders again, %.1f s after the kill. %s", time.Since(killed).Seconds(), s.leaders(0, 2))
		}
		if led && n >= len(rooms) {
			cancel()
		}
	}, 0, 2)
	if !led {
		return errors.New("the partitions of the node that was killed get no leaders")
	}
	s.say("Every series takes updates. The longest wait was %.1f s.", longest.Seconds())
	return s.same(0, 2)
}

// comeBack starts the node again.
func (s *show) comeBack(ctx context.Context) error {
	s.say("Starting node b again, with the folder that it had.")
	if err := s.c.Nodes[1].Start(); err != nil {
		return err
	}
	if err := s.until(ctx, "node b comes back", func() bool { return s.settled(0, 1, 2) }); err != nil {
		return err
	}
	s.say("Node b has read what it had missed from the log. %s", s.leaders(0, 1, 2))
	return s.same(0, 1, 2)
}

// same looks whether nodes give the same text for a series.
func (s *show) same(nodes ...int) error {
	end := strconv.FormatInt(time.Now().Unix()-2, 10)
	var first, out string
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		equal := true
		for i, node := range nodes {
			if out, err = s.command(context.Background(), node, "fetch", rooms[0], "AVERAGE", "--start", end+"-1m", "--end", end); err != nil {
				return fmt.Errorf("fetch: %w: %s", err, out)
			}
			if i == 0 {
				first = out
			}
			equal = equal && out == first
		}
		if equal {
			s.say("rondo fetch %s prints the same text through each of these %d nodes.", rooms[0], len(nodes))
			return nil
		}
	}
	return errors.New("the nodes give different texts")
}

func (s *show) tellAddresses(dir string) {
	fmt.Println("\nWhat runs now:")
	for i, name := range names {
		fmt.Printf("  node %s     %s/ (the page), %[2]s/metrics; rrdcached's protocol at %s; it logs to %s\n", name, s.c.HTTP[i], s.c.RRDCached[i], s.c.Nodes[i].Log)
	}
	for i := range names {
		fmt.Printf("  server n%d  %s/jsz (monitoring of NATS)\n", i+1, s.c.Monitor[i])
	}
	fmt.Printf("Try:\n  %s fetch --daemon %s %s AVERAGE --start -1m\n  %[1]s cluster status --daemon %[2]s\n  %[1]s cluster partitions --daemon %[2]s\n  kill -9 of any of the six, and these commands again\nEverything is stored in %[4]s.\n", s.rondo, s.c.HTTP[2], rooms[0], dir)
}

// command runs rondo with a verb through a node.
func (s *show) command(ctx context.Context, node int, verb string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.rondo, append([]string{verb, "--daemon", s.c.HTTP[node]}, args...)...).CombinedOutput()
	return string(out), err
}

func (s *show) until(ctx context.Context, what string, done func() bool) error {
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			return errors.New("it takes too long until " + what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// settled says whether nodes see each other, all partitions have leaders, and nobody is behind.
func (s *show) settled(nodes ...int) bool {
	for _, i := range nodes {
		m := s.c.Metrics(i)
		if int(m["rondo_cluster_nodes"]) != len(nodes) || m["rondo_cluster_partitions_without_leader"] != 0 || m["rondo_cluster_records_behind"] != 0 || m["rondo_cluster_leads"] == 0 {
			return false
		}
	}
	return true
}

// leaders says how many partitions each node leads.
func (s *show) leaders(nodes ...int) string {
	var all []string
	for _, i := range nodes {
		all = append(all, fmt.Sprintf("%s leads %.0f", names[i], s.c.Metrics(i)["rondo_cluster_leads"]))
	}
	return strings.Join(all, ", ") + "."
}

// logs returns the last lines of all logs.
func (s *show) logs() string {
	var b strings.Builder
	for _, p := range append(s.c.Servers[:], s.c.Nodes[:]...) {
		text, err := os.ReadFile(p.Log)
		if err != nil {
			text = []byte(err.Error())
		}
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		fmt.Fprintf(&b, "%s:\n%s\n", p.Name, bytes.Join(lines[max(0, len(lines)-8):], []byte("\n")))
	}
	return b.String()
}
