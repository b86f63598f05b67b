package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
)

const (
	beat = 250 * time.Millisecond // how far the clock goes at once
)

// TestSimulation runs clusters whose nodes die, pause, are cut off, lose their disks, come and
// leave, and run an older program that does not know all records; their clocks differ. Meanwhile
// logs are silent, and the servers lose requests and answers. At all times only the writer that has
// claimed a log last writes it, nothing is truncated that a replica needs, no replica is removed
// while another is missing, and who leads for certain has all records. When the faults have ended,
// every partition has one leader and as many replicas as it should, at the places where the map has
// them, and all of them hold every record once, in order.
//
// RONDO_SEED=N runs one seed, with what the nodes did.
func TestSimulation(t *testing.T) {
	t.Parallel()
	var total Counts
	certain, stale := 0, 0
	all := seedtest.Many(t, 60)
	for _, seed := range all {
		w := newWorld(seed)
		w.run()
		for _, x := range w.wrong {
			t.Errorf("seed %d: %s", seed, x)
		}
		certain, stale = certain+w.certain, stale+w.stale
		for _, h := range w.hosts {
			total.Promotions += h.node.counts.Promotions
			total.Handovers += h.node.counts.Handovers
			total.Copies += h.node.counts.Copies
			total.Quarantines += h.node.counts.Quarantines
			total.Failures += h.node.counts.Failures
		}
		if len(w.wrong) > 0 {
			t.Fatalf("RONDO_SEED=%d", seed)
		}
	}
	t.Logf("%+v; %d times a node led for certain, %d times one led that lacked records", total, certain, stale)
	if len(all) > 50 && (total.Promotions == 0 || total.Handovers == 0 || total.Copies == 0 || total.Quarantines == 0 || certain == 0 || stale == 0) {
		t.Errorf("the simulation does not do everything: %+v", total)
	}
}

// TestSimulationRepeats: a seed does the same twice.
func TestSimulationRepeats(t *testing.T) {
	var all [2]string
	for i := range all {
		w := newWorld(3)
		w.run()
		for _, h := range w.hosts {
			all[i] += fmt.Sprintf("%s %+v %v\n", h.name, h.node.counts, h.disk)
		}
		for p, l := range w.truth().Leases {
			all[i] += fmt.Sprintf("%d %+v %d\n", p, l, w.logs[p].acked)
		}
	}
	if all[0] != all[1] {
		t.Errorf("the same seed did\n%sand then\n%s", all[0], all[1])
	}
}

func newWorld(seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 7)), now: epoch, faults: true}
	w.servers = coordtest.New(func() time.Time { return w.now }, seed)
	var members []placement.Member
	for i := range 2 + w.r.IntN(4) {
		w.addHost(i)
		members = append(members, placement.Member{Name: w.hosts[i].name, Zone: w.hosts[i].zone})
	}
	replicas := 1 + w.r.IntN(3)
	w.flips = replicas > 1 && len(members) >= replicas
	m, err := placement.New(1+w.r.IntN(6), replicas, members)
	if err != nil {
		w.fault("%v", err)
		return w
	}
	m.Cluster = "simulated"
	for range m.Partitions {
		w.logs = append(w.logs, &modelLog{sums: []uint64{0}, first: 1, rounds: make(map[wal.Pos]bool), newer: make(map[wal.Pos]bool)})
	}
	for w.mapRevision() == 0 {
		// It may be lost, and the servers may be down for some seconds.
		if _, err := coord.WriteMap(context.Background(), w.servers.Client("operator"), m, 0); err != nil {
			w.now = w.now.Add(time.Second)
		}
	}
	return w
}

func (w *world) addHost(i int) {
	h := &host{w: w, name: fmt.Sprintf("node%d", i), zone: fmt.Sprintf("zone%d", i%3), disk: make(map[int]image), moved: make(map[int]time.Time), ahead: time.Duration(i-2) * 37 * time.Hour, drift: float64(i-2) / 2000}
	w.hosts = append(w.hosts, h)
	h.up()
}

// truth reads the store without faults.
func (w *world) truth() *coord.View {
	if w.watcher == nil {
		w.watcher = coord.NewWatcher(w.servers.Truth(), coord.Times{}, func() time.Time { return w.now })
	}
	v, err := w.watcher.Look(context.Background())
	if err != nil {
		w.fault("%v", err)
		return &coord.View{}
	}
	return v
}

func (w *world) mapRevision() uint64 { return w.truth().MapRevision }

// run lets a minute or five pass with faults, and then as long as the cluster may need without.
func (w *world) run() {
	for end := w.now.Add(time.Duration(60+w.r.IntN(240)) * time.Second); w.now.Before(end) && len(w.wrong) == 0; {
		w.mishap()
		w.pass()
	}
	w.heal()
	settled := 0
	for i := 0; i < 4*1800 && settled < 60 && len(w.wrong) == 0; i++ {
		if i == 4*30 {
			w.stay() // a request to leave may have been late
		}
		w.pass()
		if settled++; i%4 == 0 && w.unsettled() != "" {
			settled = 0
		}
		if settled == 21 && w.flips {
			w.flip()
			w.flips = false
		}
	}
	if problem := w.unsettled(); problem != "" {
		w.fault("half an hour after the last fault: %s", problem)
	}
}

// pass lets a beat pass.
func (w *world) pass() {
	w.now = w.now.Add(beat)
	for {
		i := slices.IndexFunc(w.events, func(e event) bool {
			return !w.now.Before(e.at) && !w.now.Before(e.host.paused) || e.life != e.host.life
		})
		if i < 0 {
			break
		}
		e := w.events[i]
		w.events = slices.Delete(w.events, i, i+1)
		if e.life == e.host.life && e.host.node != nil {
			e.do()
		}
	}
	for _, h := range w.hosts {
		if h.node == nil || w.now.Before(h.paused) {
			continue
		}
		for p := range w.logs {
			if m := h.open[p]; m != nil {
				m.live()
			}
		}
		if !w.now.Before(h.next) || h.node.awaits() || len(h.node.hurry) > 0 {
			h.next = w.now.Add(time.Second)
			select {
			case <-h.node.hurry:
			default:
			}
			w.servers.Cut(h.name, w.now.Before(h.cut))
			if err := h.node.tick(context.Background()); err != nil {
				w.fault("%s: %v", h.name, err)
			}
		}
	}
	w.watchLeaders()
	w.clients()
	if w.now.Nanosecond() == 0 {
		w.watchMap()
	}
}

// watchMap looks at the map each second. A node that has become a replica holds, in memory or on
// disk, what was in the log half a minute ago.
func (w *world) watchMap() {
	v := w.truth()
	for p, part := range v.Map.Partitions {
		g := w.logs[p]
		g.past = append(g.past, g.last())
		then := g.past[max(0, len(g.past)-30)]
		for _, h := range w.hosts {
			if w.seen.Partitions == nil || !slices.Contains(part.Nodes, h.name) || slices.Contains(w.seen.Partitions[p].Nodes, h.name) {
				continue
			}
			if m := h.open[p]; h.node != nil && w.now.Sub(h.since) > 30*time.Second && (m == nil || m.at.position < then) {
				w.fault("%s has become a replica of partition %d without what was in the log 30 s ago: %d records", h.name, p, then)
			}
		}
	}
	w.seen = v.Map
}

// watchLeaders looks at each node that says that it leads for certain: it has all records.
func (w *world) watchLeaders() {
	for p, g := range w.logs {
		for _, h := range w.hosts {
			m := h.open[p]
			if h.node == nil || w.now.Before(h.paused) || m == nil || m.writer == 0 {
				continue
			}
			has, sure := m.at.position >= g.last(), h.node.Leads(p) == nil
			switch {
			case sure && !has:
				w.fault("%s leads partition %d for certain, and has %d of %d records", h.name, p, m.at.position, g.last())
			case sure:
				w.certain++
			case !has:
				w.stale++
			}
		}
	}
}

// clients write to whoever they take for a leader.
func (w *world) clients() {
	if w.quiet {
		return
	}
	for p := range w.logs {
		for _, h := range w.hosts {
			if m := h.open[p]; m != nil && m.writer != 0 && w.now.After(h.paused) && w.r.IntN(3) == 0 {
				for range w.r.IntN(5) {
					_ = m.write() // who is refused goes to another one
				}
			}
		}
	}
}

// mishap lets something go wrong, or something be done.
func (w *world) mishap() {
	h := w.hosts[w.r.IntN(len(w.hosts))]
	g := w.logs[w.r.IntN(len(w.logs))]
	for _, h := range w.hosts {
		if h.node == nil && w.r.IntN(40) == 0 {
			h.up()
		}
	}
	some := time.Duration(w.r.IntN(30_000)) * time.Millisecond
	switch w.r.IntN(420) {
	case 0, 1:
		h.down()
	case 2:
		h.paused = w.now.Add(some)
	case 3:
		h.cut = w.now.Add(some)
	case 4, 5:
		g.silent = w.now.Add(some / 3)
	case 6:
		if w.mayLose(h) {
			h.down()
			w.report("the disk of %s is lost", h.name)
			clear(h.disk)
			h.kept = placement.Map{}
		}
	case 7:
		if len(w.hosts) < 7 {
			w.addHost(len(w.hosts))
		}
	case 8, 9:
		// The request may be lost.
		_ = coord.SetLeaving(context.Background(), w.servers.Client("operator"), h.name, w.r.IntN(2) == 0)
	case 10:
		if h.node != nil {
			h.node.Stop()
		}
	case 11:
		h.down()
		h.older = !h.older
		w.report("%s has an older program: %v", h.name, h.older)
	}
}

// mayLose says whether a disk may be lost: another replica of the map has all that is on it.
func (w *world) mayLose(h *host) bool {
	parts := w.truth().Map.Partitions
	for p := range h.disk {
		if !slices.ContainsFunc(w.hosts, func(o *host) bool {
			return o != h && slices.Contains(parts[p].Nodes, o.name) && o.disk[p].position+1 >= w.logs[p].first && o.has(p)
		}) {
			return false
		}
	}
	return true
}

func (h *host) has(p int) bool {
	_, ok := h.disk[p]
	return ok
}

// flip flips a bit of one replica of each partition, the leader's or another one's. Where two have
// the partition, it knows that. Where three have one, the same bit of two may flip, which know it.
func (w *world) flip() {
	for p := range w.logs {
		left, known := 1, w.truth().Map.Replicas == 2
		if !known && w.r.IntN(2) == 0 {
			left, known = 2, true
		}
		for _, h := range w.hosts {
			if m := h.open[p]; m != nil && left > 0 {
				w.report("a bit flips in partition %d of %s, which knows it: %v", p, h.name, known)
				m.at.sum ^= 1
				m.saved, m.old, m.rotten = m.at, image{}, known
				h.disk[p] = m.saved
				left--
			}
		}
	}
}

// heal ends all faults: every host runs, and nobody leaves.
func (w *world) heal() {
	w.faults = false
	w.servers.Heal()
	for _, g := range w.logs {
		g.silent = time.Time{}
	}
	for _, h := range w.hosts {
		h.cut, h.paused = time.Time{}, time.Time{}
		w.servers.Cut(h.name, false)
		if h.node == nil || h.node.stopping || h.older {
			h.down()
			h.older = false
			h.up()
		}
	}
	w.stay()
}

// stay lets all nodes stay.
func (w *world) stay() {
	for _, h := range w.hosts {
		if err := coord.SetLeaving(context.Background(), w.servers.Truth(), h.name, false); err != nil {
			w.fault("%v", err)
		}
	}
}

// truncates is asked before a log is truncated: no replica of the map on a live node may need what
// goes.
func (w *world) truncates(leader *model, upto wal.Pos) {
	part := w.truth().Map.Partitions[leader.p]
	for _, h := range w.hosts {
		m := h.open[leader.p]
		if h.node == nil || m == nil || m == leader || m.halted || !slices.Contains(part.Nodes, h.name) {
			continue
		}
		if l := h.node.locals[leader.p]; l.why != "" || w.now.Sub(h.since) > 50*time.Second && w.now.Sub(m.opened) > 50*time.Second && w.silentFor(h) {
			continue
		}
		if x := leader.h.node.locals[leader.p].holds[h.name]; x != nil && (x.lapsed || x.copying) && (w.now.Sub(h.moved[leader.p]) > 50*time.Second || w.now.Sub(m.opened) < 10*time.Second) {
			continue // it has made no progress for too long, or had not until a moment ago
		}
		if m.saved.position < upto && m.at.position+1 < min(upto, leader.saved.position)+1 {
			w.fault("partition %d is truncated up to %d, and %s stands at %d", leader.p, upto, h.name, m.at.position)
		}
	}
}

// silentFor says whether a node may have been silent for so long that it counts as gone.
func (w *world) silentFor(h *host) bool { return w.now.Before(h.cut) || w.now.Before(h.paused) }

// removes is asked before a replica is removed: the map must have given it to others.
func (w *world) removes(h *host, p int) {
	part := w.truth().Map.Partitions[p]
	if slices.Contains(part.Nodes, h.name) {
		w.fault("%s removes its replica of partition %d, which the map gives it: %+v", h.name, p, part)
	}
}

// unsettled says what is not yet as it should be, or nothing.
func (w *world) unsettled() string {
	v := w.truth()
	for p, part := range v.Map.Partitions {
		g := w.logs[p]
		leaders := 0
		for _, h := range w.hosts {
			m := h.open[p]
			if !slices.Contains(part.Nodes, h.name) {
				if h.has(p) {
					return fmt.Sprintf("%s still has partition %d", h.name, p)
				}
				continue
			}
			switch {
			case m == nil:
				return fmt.Sprintf("%s has not opened partition %d", h.name, p)
			case m.halted:
				return fmt.Sprintf("partition %d of %s is halted", p, h.name)
			case m.at.position > g.last():
				return fmt.Sprintf("%s holds more of partition %d than the log", h.name, p)
			case m.at.sum != g.sums[m.at.position]:
				return fmt.Sprintf("%s has other records of partition %d than were written, up to %d", h.name, p, m.at.position)
			case m.writer != 0 && m.writer == g.claim:
				leaders++
			case m.writer != 0:
				return fmt.Sprintf("%s believes that it leads partition %d", h.name, p)
			}
		}
		if want := min(v.Map.Replicas, len(w.hosts)); leaders != 1 || part.Move != nil || len(part.Nodes) != want {
			return fmt.Sprintf("partition %d has %d leaders, and is %+v", p, leaders, part)
		}
		if l := v.Leases[p]; l.Node != part.Nodes[0] {
			return fmt.Sprintf("partition %d is led by %s, and the map prefers %s", p, l.Node, part.Nodes[0])
		}
	}
	return ""
}
