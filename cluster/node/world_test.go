package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
)

// A world is a cluster in one goroutine with a clock of its own. Logs, disks and replicas are
// models: a replica is a position and a checksum of all that it has applied, in order. So a record
// that is missing, applied twice or out of order shows. What the nodes do is the real code.
type world struct {
	r       *rand.Rand
	now     time.Time
	servers *coordtest.Servers
	logs    []*modelLog
	hosts   []*host
	events  []event
	faults  bool
	wrong   []string // what must not be
	flips   bool     // bits are to flip
	quiet   bool     // nobody writes
	seen    placement.Map
	watcher *coord.Watcher // without faults
	certain int            // how often a node led for certain
	stale   int            // how often one led that lacked records
}

// An event is what happens at a time: the end of a task.
type event struct {
	at   time.Time
	host *host
	life int // of the host; an event of a former life does not happen
	do   func()
}

// A modelLog is the stream of one partition. It is never lost. Its records are their positions, and
// who wrote them.
type modelLog struct {
	writers []int    // of each record; records[i] has position i+1
	sums    []uint64 // sums[p] is the checksum of all records up to position p
	first   wal.Pos  // records before it are truncated
	claim   int      // the writer: its number
	silent  time.Time
	acked   int              // records that were acknowledged
	past    []wal.Pos        // the newest position at each second
	rounds  map[wal.Pos]bool // records with which a round of digests ends
	newer   map[wal.Pos]bool // records that an older program does not know
	kept    *modelLog        // what it was before it lost its end; nil: it did not
}

// lose removes the records behind position upto.
func (g *modelLog) lose(upto wal.Pos) {
	was := *g
	g.kept, g.writers, g.sums = &was, slices.Clone(g.writers[:upto]), slices.Clone(g.sums[:upto+1])
	g.first = min(g.first, upto+1)
}

// begin begins the log anew behind position held, which a replica holds.
func (g *modelLog) begin(held wal.Pos) {
	g.writers, g.sums = slices.Clone(g.kept.writers[:held]), slices.Clone(g.kept.sums[:held+1])
	g.first, g.kept = held+1, nil
}

func (g *modelLog) last() wal.Pos { return wal.Pos(len(g.writers)) }

func chain(sum uint64, p wal.Pos, writer int) uint64 {
	sum ^= uint64(p)<<20 ^ uint64(writer)
	sum *= 0x9e3779b97f4a7c15
	return sum ^ sum>>29
}

func (g *modelLog) add(writer int) {
	g.writers = append(g.writers, writer)
	g.sums = append(g.sums, chain(g.sums[len(g.sums)-1], g.last(), writer))
}

// A host is a machine: its disk outlives its node.
type host struct {
	w      *world
	name   string
	zone   string
	disk   map[int]image
	kept   placement.Map // on the disk
	life   int
	node   *Node // nil: it is down
	open   map[int]*model
	paused time.Time // until when it is stopped
	cut    time.Time // until when it reaches nobody
	next   time.Time // its next look
	since  time.Time // it has been up

	ahead time.Duration // of the others' clocks
	drift float64       // seconds that its clock gains in one

	shut  time.Time         // no replica opens before
	older bool              // the program on it
	waits map[int]bool      // partitions whose replica waits for a newer program
	moved map[int]time.Time // when the replica of a partition has applied a record last
}

// An image is what a disk has of a replica: a checkpoint.
type image struct {
	position wal.Pos
	sum      uint64
}

// A model is an open replica.
type model struct {
	h      *host
	p      int
	at     image // what is applied
	saved  image // the checkpoint
	old    image // a checkpoint of a minute or two ago
	writer int   // its claim; 0: it follows
	newest wal.Pos
	err    error
	halted bool
	opened time.Time
	closed bool
	digest core.Digested
	rotten bool      // it knows that its database is damaged
	short  time.Time // since when the log ends too early, as far as it knows; zero: it does not
}

var (
	errSilent    = errors.New("the log does not answer")
	errNotLeader = errors.New("this is not the leader")
)

func (h *host) reaches(g *modelLog) bool { return !h.w.now.Before(g.silent) && !h.w.now.Before(h.cut) }

func (m *model) log() *modelLog { return m.h.w.logs[m.p] }

func (m *model) Engine() core.Engine { return nil }

func (m *model) Standing() Standing {
	return Standing{Leads: m.writer != 0, Halted: m.halted, Position: m.at.position, Newest: max(m.newest, m.at.position), Checkpoint: m.saved.position, Log: wal.ID{1}, Err: m.err, Outdated: m.halted && newer(m.err), Damaged: m.rotten}
}

func (m *model) Promote(context.Context) error {
	g := m.log()
	switch {
	case m.writer != 0:
		return nil
	case m.halted:
		return m.err
	case !m.h.reaches(g):
		return errSilent
	}
	g.claim++
	if _, anew, err := m.h.node.Log(m.p, m.at.position); err != nil {
		return err
	} else if g.kept != nil && (g.last() == 0 || g.last() < m.at.position) { // as Open of package stream
		if !anew {
			return wal.ErrLost
		}
		if m.saved != m.at {
			m.h.w.fault("%s begins the log of partition %d at %d, and its disk has %d", m.h.name, m.p, m.at.position, m.saved.position)
		}
		g.begin(m.at.position)
	}
	if m.at.position+1 < g.first {
		return wal.ErrTruncated
	}
	if err := m.apply(g.last()); err != nil {
		return err
	}
	m.h.w.report("%s leads partition %d: %+v", m.h.name, m.p, m.h.node.locals[m.p].lease)
	m.writer, m.err = g.claim, nil
	return nil
}

// apply applies the records up to a position. It returns an error in front of one that the program
// does not know.
func (m *model) apply(upto wal.Pos) error {
	g := m.log()
	for p := m.at.position + 1; p <= upto; p++ {
		if m.h.older && g.newer[p] {
			return fmt.Errorf("position %d: %w", p, core.ErrNewer)
		}
		m.at = image{p, chain(m.at.sum, p, g.writers[p-1])}
		if g.rounds[p] {
			m.digest = core.Digested{At: p, Sum: m.at.sum}
		}
	}
	return nil
}

func (m *model) Demote(context.Context) error {
	m.writer = 0
	return nil
}

// write is a write of a client that takes this replica for the leader.
func (m *model) write() error {
	g := m.log()
	switch {
	case m.writer == 0:
		return errNotLeader
	case !m.h.reaches(g):
		return errSilent
	case g.claim != m.writer:
		m.writer = 0
		return errNotLeader
	case g.last() < m.at.position: // after a while
		m.writer, m.err = 0, wal.ErrLost
		return errNotLeader
	}
	if g.last() != m.at.position {
		m.h.w.fault("the leader of partition %d writes at %d, and stands at %d", m.p, g.last()+1, m.at.position)
	}
	g.add(m.writer)
	g.newer[g.last()] = !m.h.older && m.h.w.faults && len(g.writers)%10 == 0
	g.acked++
	return m.apply(g.last())
}

func (m *model) Checkpoint(context.Context) error {
	m.saved = m.at
	m.h.disk[m.p] = m.saved
	return nil
}

func (m *model) Truncate(upto wal.Pos) error {
	g := m.log()
	if !m.h.reaches(g) {
		return errSilent
	}
	if m.writer == 0 || g.claim != m.writer {
		m.writer = 0
		return errNotLeader
	}
	switch w := m.h.w; {
	case g.last() >= m.at.position:
		m.short = time.Time{}
	case m.short.IsZero():
		m.short = w.now
	case w.now.Sub(m.short) >= 25*time.Second:
		m.writer, m.short = 0, time.Time{}
		return errNotLeader
	}
	if upto == 0 || !m.short.IsZero() {
		return nil
	}
	m.h.w.truncates(m, upto)
	g.first = max(g.first, min(upto, m.saved.position)+1)
	return nil
}

func (m *model) TakeDigest(context.Context, float64) (core.Digested, error) {
	g := m.log()
	p := g.last() + 1
	g.rounds[p] = true
	if err := m.write(); err != nil {
		delete(g.rounds, p)
		return core.Digested{}, err
	}
	return m.digest, nil
}

func (m *model) AwaitDigest(context.Context, wal.Pos) (uint64, error) {
	return 0, errors.New("a model")
}

func (m *model) LastDigest() core.Digested { return m.digest }

func (m *model) Close() error {
	m.writer, m.closed = 0, true
	if m.h.open[m.p] == m {
		delete(m.h.open, m.p)
	}
	return nil
}

// live lets time pass: the log is followed, checkpoints are written.
func (m *model) live() {
	r, g := m.h.w.r, m.log()
	if r.IntN(20) == 0 {
		m.saved = m.at
		m.h.disk[m.p] = m.saved
	}
	if m.h.w.now.Sub(epoch)%(90*time.Second) == 0 {
		m.old = m.saved
	}
	if m.writer != 0 || m.halted {
		return
	}
	if !m.h.reaches(g) {
		m.err = errSilent
		return
	}
	m.err = nil
	if m.at.position > g.last() {
		m.err = wal.ErrLost
		return
	}
	if m.at.position+1 < g.first {
		m.halted, m.err = true, wal.ErrTruncated
		return
	}
	if m.h.w.faults && r.IntN(4) == 0 {
		return // it lags
	}
	m.newest = g.last()
	from := m.at.position
	m.err = m.apply(min(g.last(), from+wal.Pos(r.IntN(8))))
	if m.at.position > from {
		m.h.moved[m.p] = m.h.w.now
	}
	if m.halted = m.err != nil; m.halted {
		m.h.waits[m.p] = true
	}
}

func (h *host) Known() (string, placement.Map, error) { return h.kept.Cluster, h.kept, nil }

func (h *host) Keep(m placement.Map) error {
	if h.kept.Cluster != "" && h.kept.Cluster != m.Cluster {
		return ErrOtherCluster
	}
	h.kept = m
	return nil
}

func (h *host) List() ([]int, error) {
	var all []int
	for p := range h.disk {
		all = append(all, p)
	}
	return all, nil
}

func (h *host) Open(_ context.Context, p int) (Replica, error) {
	if h.open[p] != nil {
		h.w.fault("%s opens partition %d twice", h.name, p)
	}
	if h.w.now.Before(h.shut) {
		return nil, errors.New("the disk is busy")
	}
	m := &model{h: h, p: p, at: h.disk[p], saved: h.disk[p], opened: h.w.now}
	h.disk[p] = m.saved
	h.open[p] = m
	return m, nil
}

func (h *host) Restore(_ context.Context, p int, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if h.open[p] != nil {
		h.w.fault("%s restores partition %d while it is open", h.name, p)
	}
	if h.waits[p] {
		h.w.fault("%s takes a copy of partition %d, which a newer program would read", h.name, p)
	}
	h.disk[p] = image{wal.Pos(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])}
	return nil
}

func (h *host) Remove(p int) error {
	h.w.removes(h, p)
	delete(h.disk, p)
	delete(h.waits, p)
	return nil
}

// Partition gives backups of a host's replica, if both are up.
func (h *host) Partition(node coord.Member, p int) (Partition, error) {
	return backupOnly{give: func(_ context.Context, w io.Writer) error { return h.backup(node, p, w) }}, nil
}

func (h *host) backup(node coord.Member, p int, w io.Writer) error {
	for _, other := range h.w.hosts {
		if other.name != node.Name {
			continue
		}
		m := other.open[p]
		if other.node == nil || m == nil || h.w.now.Before(other.cut) || h.w.now.Before(h.cut) {
			return fmt.Errorf("%s does not answer", node.Name)
		}
		im := m.saved
		if m.old.position+1 >= m.log().first && m.old.position > 0 {
			im = m.old // the copy has taken long
		}
		b := binary.LittleEndian.AppendUint64(nil, uint64(im.position))
		_, err := io.Copy(w, bytes.NewReader(binary.LittleEndian.AppendUint64(b, im.sum)))
		return err
	}
	return fmt.Errorf("there is no %s", node.Name)
}

// Refuses says that nobody listens at a node's address, if this host and that one are connected. A
// process that is paused has its port open.
func (h *host) Refuses(_ context.Context, node coord.Member) bool {
	for _, other := range h.w.hosts {
		if other.name == node.Name {
			return other.node == nil && !h.w.now.Before(other.cut) && !h.w.now.Before(h.cut)
		}
	}
	return false
}

func (w *world) fault(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf("%v: ", w.now.Sub(epoch))+fmt.Sprintf(format, args...))
}

var epoch = time.Unix(1_700_000_000, 0)

// logger writes what a node does, when one seed runs.
func (w *world) logger(name string) *slog.Logger {
	if !seedtest.Repeats() {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Duration("at", w.now.Sub(epoch))
		}
		return a
	}})).With("node", name)
}

// report writes what happens, when one seed runs.
func (w *world) report(format string, args ...any) {
	if l := w.logger("world"); l != nil {
		l.Info(fmt.Sprintf(format, args...))
	}
}

// clock returns the time as a host has it: days from the others', and faster or slower.
func (h *host) clock() time.Time {
	return h.w.now.Add(h.ahead + time.Duration(float64(h.w.now.Sub(epoch))*h.drift))
}

// up starts a host.
func (h *host) up() {
	w := h.w
	h.life++
	h.open, h.waits, h.next, h.since = make(map[int]*model), make(map[int]bool), w.now, w.now
	life := h.life
	n, err := New(Options{
		Name: h.name, Address: h.name + ":1", Zone: h.zone, Session: fmt.Sprint(life), Store: w.servers.Client(h.name), Disk: h, Peers: h,
		Times: coord.Times{Gone: time.Minute}, DigestInterval: 20 * time.Second, TruncateInterval: 5 * time.Second,
		Logger: w.logger(h.name), now: h.clock, pause: func(context.Context, time.Duration) error { return nil },
		start: func(do func()) {
			after := time.Duration(w.r.IntN(3000)) * time.Millisecond
			if w.faults && w.r.IntN(10) == 0 {
				after *= 10
			}
			w.events = append(w.events, event{w.now.Add(after), h, life, do})
		},
	})
	if err != nil {
		w.fault("%s does not start: %v", h.name, err)
		return
	}
	h.node = n
}

// down kills a host. What was not in a checkpoint is lost.
func (h *host) down() {
	h.w.report("%s dies", h.name)
	h.node, h.open = nil, nil
}
