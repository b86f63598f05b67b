package core_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A followedLog is a log with all kinds of records, and the leader that has written it.
type followedLog struct {
	log  *waltest.Stream
	lead *core.Store
	app  *crashAppender
	ends []wal.Pos // of its three parts
}

// smallSeries returns how many series have a group of their own: more than a checkpoint takes
// snapshots of before it has written the first ones. The race detector makes do with fewer.
func smallSeries() int {
	if raceEnabled {
		return 110
	}
	return 530
}

// newFollowedLog writes the log.
func newFollowedLog(t *testing.T, seed uint64) *followedLog {
	t.Helper()
	l := &followedLog{log: waltest.NewStream(seed)}
	l.lead = mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, l.log))
	mustPromote(t, l.lead)
	l.app = appenderOn(l.lead, newCrashAppender(l.lead, seed, 0, 0))
	l.steps(t, 10)
	var specs []core.Spec
	for i := range smallSeries() {
		rows := 20 + 2*i // they expire soon
		if i%100 == 0 {
			rows = 1440 + i/100 // each part has rows of one slot of 128, which are merged in the last
		}
		def := testDefinition(t, "DS:x:GAUGE:100:U:U", fmt.Sprintf("RRA:AVERAGE:0.5:1:%d", rows))
		specs = append(specs, core.Spec{Path: fmt.Sprintf("small/%d", i), Definition: def, Start: rra.Seconds(programStart)})
	}
	out, err := l.lead.CreateBatch(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		var b core.Batch
		for j, x := range out {
			for k := range int64(48) {
				b.Add(x.Ref, rra.Seconds(programStart+480*i+10*k+10), rra.Float(float64(int64(j)*k)))
			}
		}
		if err := l.lead.Append(t.Context(), &b); err != nil && i == 0 {
			t.Fatal(err)
		}
		l.others(t, int(i))
		l.steps(t, 12)
		l.ends = append(l.ends, l.lead.Position())
	}
	mustClose(t, l.lead.Demote(t.Context()))
	return l
}

// appenderOn lets an appender go on with another store.
func appenderOn(s *core.Store, a *crashAppender) *crashAppender {
	a.s = s
	a.begin, a.done = func(int) {}, func(int) {}
	return a
}

// steps makes the next operations of a plan that creates, drops, renames and replaces series, and
// appends to them.
func (l *followedLog) steps(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := l.app.step(); err != nil {
			t.Fatal(err)
		}
	}
}

// others writes records of the other kinds.
func (l *followedLog) others(t *testing.T, i int) {
	t.Helper()
	ctx := t.Context()
	path := fmt.Sprintf("small/%d", i)
	ref, err := l.lead.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.lead.Export(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	c.Path = fmt.Sprintf("imported/%d", i)
	if _, err := l.lead.Import(ctx, []core.Copy{c}, false); err != nil {
		t.Fatal(err)
	}
	md := core.Metadata{Text: fmt.Sprint(i)}
	if _, err := l.lead.SetMetadata(ctx, []core.PathMetadata{{Path: path, Metadata: md}}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l.lead.AddNote(ctx, path, core.Note{Text: fmt.Sprint(i)}))
	mustClose(t, l.lead.Rename(ctx, fmt.Sprintf("small/%d", i+50), fmt.Sprintf("renamed/%d", i)))
	mustClose(t, core.Drop(ctx, l.lead, fmt.Sprintf("small/%d", i+60)))
}

// A killedFollower is a follower whose folder is copied wherever it could be killed. A process that
// is killed leaves what it has written, so the copy is what another process would find.
type killedFollower struct {
	t    *testing.T
	dir  string
	s    *core.Store
	now  atomic.Pointer[core.Store] // s, for the points
	tap  *tap
	then map[string]func() // done once, at the first hit of a point, after the copy

	mu    sync.Mutex
	hits  map[string]int
	left  []leftFolder
	limit int // copies of a point
}

// A leftFolder is what a process left that was killed.
type leftFolder struct {
	at       string
	dir      string
	position wal.Pos // that the process had reached
}

// reach notes that a point was reached. It copies the folder at the first hit, the second, the
// fourth, the eighth and so on.
func (k *killedFollower) reach(name string) {
	k.mu.Lock()
	k.hits[name]++
	n, copied := k.hits[name], 0
	first := k.then[name]
	delete(k.then, name)
	k.mu.Unlock()
	for at := 1; at <= n; at *= 2 {
		if copied++; at == n && copied <= k.limit {
			k.copy(fmt.Sprintf("%s, hit %d", name, n))
		}
	}
	if first != nil {
		first()
	}
}

// copy keeps the folder as it is. Nobody writes into it meanwhile: the one who does is the caller,
// or waits.
func (k *killedFollower) copy(at string) {
	var position wal.Pos
	if s := k.now.Load(); s != nil {
		position = s.Position()
	}
	to := filepath.Join(k.t.TempDir(), "left")
	from := filepath.Join(k.dir, "rondo.bolt")
	if err := os.Mkdir(to, 0o700); err != nil {
		k.t.Error(err)
		return
	}
	copyFile(k.t, from, filepath.Join(to, "rondo.bolt"))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = append(k.left, leftFolder{at, to, position})
}

// live does all that a follower does: it follows, writes checkpoints and a backup, leads, and follows
// again.
func (k *killedFollower) live(l *followedLog) {
	t, ctx := k.t, k.t.Context()
	k.tap = newTap(l.log, l.ends[0])
	o := k.tap.options(core.Options{NoBackground: true}.WithHook(k.reach))
	k.s = mustOpen(t, k.dir, o)
	k.now.Store(k.s)
	awaitAt(t, k.s, l.ends[0])
	k.reach("applied")
	mustClose(t, k.s.Checkpoint(ctx))
	k.tap.turn(l.ends[1] - 5)
	awaitAt(t, k.s, l.ends[1]-5)
	k.then["checkpoint-between"] = func() { // some groups are written, and others are changed again
		k.tap.turn(l.ends[1])
		awaitAt(t, k.s, l.ends[1])
		k.reach("applied")
	}
	mustClose(t, k.s.Checkpoint(ctx))
	k.reach("idle")
	k.then["backup-catalogue"] = func() { // the backup ends with records of the log
		k.tap.turn(l.ends[1] + 7)
		awaitAt(t, k.s, l.ends[1]+7)
	}
	mustClose(t, k.s.Backup(ctx, io.Discard))
	mustPromote(t, k.s) // which applies the rest
	k.reach("leading")
	l.lead, l.app = k.s, appenderOn(k.s, l.app)
	l.steps(t, 6)
	mustClose(t, k.s.Checkpoint(ctx))
	l.steps(t, 3)
	mustClose(t, k.s.Demote(ctx))
	k.tap.all()
	k.reach("idle")
	mustClose(t, k.s.Close())
	k.reach("closed")
}

// followPoints are the points of a store that follows, leads and follows again.
var followPoints = []string{
	"applied", "idle", "leading", "closed",
	"follow-open", "promote-log", "promote-applied", "demote-closed",
	"catalogue-create", "record-applied", "log-durable",
	"checkpoint-metadata", "checkpoint-tx", "checkpoint-written", "checkpoint-between", "checkpoint-groups", "checkpoint-catalogue", "checkpoint-end",
	"expire", "merge", "backup-catalogue", "backup-groups",
}

// TestFollowerKilled kills a follower at every point of what it does, and opens what is left. The
// store goes on behind its checkpoint, reads each record once, and holds what a store holds that
// nothing has happened to.
func TestFollowerKilled(t *testing.T) {
	seed := seedtest.One(t)
	l := newFollowedLog(t, seed)
	twin := l.lead
	k := &killedFollower{t: t, dir: t.TempDir(), hits: make(map[string]int), then: make(map[string]func()), limit: seedtest.Often(1, 3)}
	k.live(l)
	await(t, twin, l.log)
	for i, x := range k.left {
		again(t, l.log, twin, x, i)
		if t.Failed() {
			t.FailNow()
		}
	}
	mustClose(t, twin.Close())
	for _, name := range followPoints {
		if k.hits[name] == 0 {
			t.Errorf("nobody was at %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.hits)) {
		t.Logf("%s: reached %d times", name, k.hits[name])
	}
	t.Logf("%d kills", len(k.left))
}

// again opens what a killed follower left, lets it follow, and compares it with another store that
// follows. Some of them are killed once more, and some lead at once.
func again(t *testing.T, log *waltest.Stream, twin *core.Store, x leftFolder, i int) {
	t.Helper()
	last := log.Reader().Last()
	tp := newTap(log, 0)
	open := func() *core.Store {
		s, err := core.Open(x.dir, tp.options(core.Options{NoBackground: true}))
		if err != nil {
			t.Fatalf("%s: %v", x.at, err)
		}
		if st, _ := s.Standing(); st.Role != core.Follower || st.Position != s.Checkpointed() {
			t.Fatalf("%s: opened as %+v, the checkpoint is at %d", x.at, st, s.Checkpointed())
		}
		return s
	}
	s := open()
	from := s.Checkpointed()
	if x.position != 0 && from > x.position {
		t.Errorf("%s: the checkpoint is at %d, the store was at %d", x.at, from, x.position)
	}
	half := from + (last-from)/2
	switch i % 3 {
	case 0:
		tp.turn(half)
		awaitAt(t, s, half)
		mustClose(t, s.Checkpoint(context.Background()))
		mustClose(t, s.Abandon())
		if s = open(); s.Checkpointed() != half {
			t.Errorf("%s: opened at %d after a checkpoint at %d", x.at, s.Checkpointed(), half)
		}
	case 1:
		mustPromote(t, s)
	}
	tp.all()
	awaitAt(t, s, last)
	began, given := tp.seen() // before the check, which reads the log too
	same(t, x.at, s, twin)
	for j, p := range given {
		if p != from+1+wal.Pos(j) {
			t.Fatalf("%s: record %d was read where %d is the next; read from %v", x.at, p, from+1+wal.Pos(j), began)
		}
	}
	if i%3 != 1 && (from+wal.Pos(len(given)) != last || began[0] != from+1) {
		t.Errorf("%s: read from %v, %d records, from %d to %d", x.at, began, len(given), from, last)
	}
	mustClose(t, s.Close())
}
