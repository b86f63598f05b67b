package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// Stores that share a log compare what they hold by digests that all of them take at one position:
// where they meet a record that the leader logs for that, and that changes nothing else. Nobody
// stops for it. What the catalogue and the metadata are there is known from a transaction that
// begins at the record, and from the changes that the database does not hold by then. The states of
// series are read group by group by a goroutine; a shard that is about to change a group where the
// goroutine has not been takes the digest of the group first. All are summed up, so that their
// order does not matter. Rows in the database do not count: they have checksums of their own.

// A Digested is a digest of everything that a store holds. Stores of one log that have digests at
// the same position hold the same if the sums are equal.
type Digested struct {
	At  wal.Pos // 0: there is no digest
	Sum uint64
}

const (
	// digestVersion follows the kind of a record that asks for digests. Behind it stands how many
	// times as long as it works a store rests. Part of the format of the log.
	digestVersion = 3
	digestWork    = time.Millisecond // that the goroutine works at a time
	takenMost     = 8                // digests that are kept
)

// A digests takes the digests of a store.
type digests struct {
	s       *Store
	taking  chan struct{}  // held by TakeDigest; holds one
	walking sync.WaitGroup // goroutines of runs

	mu    sync.Mutex // guards what follows; taken last and alone
	run   *digestRun // the newest; nil: there was none
	taken []Digested // the newest ones, in their order
}

// A digestRun takes one digest.
type digestRun struct {
	s    *Store
	pos  wal.Pos
	rest time.Duration      // for each unit of work
	stop context.CancelFunc // ends the goroutine
	sum  atomic.Uint64      // so far
	fail atomic.Pointer[error]
	done chan struct{} // closed when sum and fail are complete

	tx       boltfile.Tx          // begun at the record
	ops      []catOp              // that tx may lack
	metadata map[string]*Metadata // the same
}

// TakeDigest makes the leader, and the stores that follow it, take a digest of all that they hold,
// and returns the leader's. AwaitDigest returns the others'. share is the part of its time that
// each store may work, above 0 and up to 1. One call runs at a time. The error wraps ErrNotLeader
// if the store does not lead.
func (s *Store) TakeDigest(ctx context.Context, share float64) (Digested, error) {
	if !(share > 0 && share <= 1) {
		return Digested{}, invalid("a digest may take %v of the time: between 0 and 1 is possible", share)
	}
	if s.options.Follow == nil {
		return Digested{}, invalid("the store shares its log with no other")
	}
	d := &s.replica.digests
	select {
	case d.taking <- struct{}{}:
	case <-ctx.Done():
		return Digested{}, ctx.Err()
	}
	defer func() { <-d.taking }()
	rec := binary.AppendUvarint([]byte{record.KindBarrier, digestVersion}, uint64(1/share)-1)
	var at wal.Pos
	err := s.change(ctx, rec, func(t *Ticket) error {
		at = t.pos
		d.begin(t, rec[1:])
		return nil
	})
	if err != nil {
		return Digested{}, fmt.Errorf("take a digest: %w", err)
	}
	sum, err := d.at(ctx, at)
	return Digested{at, sum}, err
}

// AwaitDigest waits until the store has met the record at a position, where digests were asked for,
// and returns the digest that it took there. Only the newest digests are kept. The error is ctx's,
// or says why the store has no digest there.
func (s *Store) AwaitDigest(ctx context.Context, at wal.Pos) (uint64, error) {
	if err := s.WaitFor(ctx, at); err != nil {
		return 0, err
	}
	return s.replica.digests.at(ctx, at)
}

// LastDigest returns the newest digest that the store has taken.
func (s *Store) LastDigest() Digested {
	d := &s.replica.digests
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.taken) == 0 {
		return Digested{}
	}
	return d.taken[len(d.taken)-1]
}

// Why a store has no digest.
var (
	errNoDigest    = errors.New("the store took none there")
	errDigestEnded = errors.New("another one began, or the store was closed")
	errDigestAhead = errors.New("the database was ahead of it when the store was opened")
)

// begin begins a digest where the record of t asks for one, in the order of the log. body is what
// follows the kind. begin sets what t does to every shard.
func (d *digests) begin(t *Ticket, body []byte) {
	r := record.Reader{Rest: body}
	version, rest := r.Byte(), r.Uvarint()
	if d.s.options.Follow == nil || version != digestVersion || r.Err != nil || len(r.Rest) > 0 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	run := &digestRun{s: d.s, pos: t.pos, rest: time.Duration(min(rest, 1000)), stop: stop, done: make(chan struct{})}
	run.ops, _ = d.s.catalogue.pending()
	run.metadata = d.s.metadata.changes()
	var err error
	if run.tx, err = d.s.db.Begin(); err != nil { // behind the changes: a checkpoint moves them
		run.failed(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.s.replica.closed.Load() {
		stop()
		run.tx.End()
		return
	}
	if d.run != nil {
		d.run.stop() // its groups change from here on
	}
	d.run = run
	t.op.all = func(sh *shard) { sh.before = func(g *group) { run.failed(run.count(g)) } }
	d.walking.Go(func() {
		defer stop()
		run.failed(run.walk(ctx))
		d.mu.Lock()
		defer d.mu.Unlock()
		if run.fail.Load() == nil {
			d.taken = append(d.taken[max(0, len(d.taken)+1-takenMost):], Digested{run.pos, run.sum.Load()})
		}
		close(run.done)
	})
}

// at returns the digest that the store has taken at a position, or takes.
func (d *digests) at(ctx context.Context, pos wal.Pos) (uint64, error) {
	d.mu.Lock()
	run, err := d.run, errNoDigest
	i := slices.IndexFunc(d.taken, func(x Digested) bool { return x.At == pos })
	if i >= 0 {
		defer d.mu.Unlock()
		return d.taken[i].Sum, nil
	}
	d.mu.Unlock()
	if run != nil && run.pos == pos {
		select {
		case <-run.done:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		failed := run.fail.Load()
		if failed == nil {
			return run.sum.Load(), nil
		}
		err = *failed
	}
	return 0, fmt.Errorf("no digest at log position %d: %w", pos, err)
}

// close ends the digest that is taken now. The replica is closed, so that none begins.
func (d *digests) close() {
	d.mu.Lock()
	if d.run != nil {
		d.run.stop()
	}
	d.mu.Unlock()
	d.walking.Wait()
}

// failed keeps the first error, and notes damage.
func (run *digestRun) failed(err error) {
	if e, ok := errors.AsType[*DamageError](err); ok {
		run.s.damage.Note(e)
	}
	if err != nil {
		run.fail.CompareAndSwap(nil, &err)
	}
}

// walk takes the digest of everything that no shard takes first.
func (run *digestRun) walk(ctx context.Context) error {
	err := run.entries(ctx) // without a rest: a long transaction would pin pages
	run.tx.End()
	run.ops, run.metadata = nil, nil
	if err != nil {
		return err
	}
	if err := run.s.WaitFor(ctx, run.pos); err != nil {
		return errors.Join(errDigestEnded, err)
	}
	began := time.Now()
	for _, c := range *run.s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if err := run.visit(ctx, g); err != nil {
				return err
			}
			if took := time.Since(began); took > digestWork {
				_ = sleep.For(ctx, took*run.rest) // visit returns its error
				began = time.Now()
			}
		}
	}
	return nil
}

// entries takes the digest of the catalogue and of the metadata.
func (run *digestRun) entries(ctx context.Context) error {
	if !run.tx.Open() {
		return nil // that is run's error
	}
	series, metadata := make(map[string][]byte), make(map[string][]byte)
	for i := range run.ops {
		series[string(refKey(run.ops[i].ref))] = nil
		if rec := run.ops[i].add; rec != nil {
			series[string(refKey(run.ops[i].ref))] = rec.append(nil)
		}
	}
	for k, m := range run.metadata {
		metadata[k] = nil
		if m != nil {
			metadata[k] = appendMetadata(nil, m, false)
		}
	}
	if err := run.bucket(ctx, bucketSeries, series); err != nil {
		return err
	}
	return run.bucket(ctx, bucketMetadata, metadata)
}

// bucket takes the digest of a bucket, with changes of it; nil: the key is removed.
func (run *digestRun) bucket(ctx context.Context, bucket []byte, changed map[string][]byte) error {
	add := func(k, v []byte) {
		var sum mixer
		sum.bytes(bucket)
		sum.bytes(k)
		sum.bytes(v)
		run.sum.Add(sum.value())
	}
	for k, v := range changed {
		if v != nil {
			add([]byte(k), v)
		}
	}
	return run.s.db.Guard(bucket, func() error {
		for k, v := range run.tx.Each(bucket) {
			if ctx.Err() != nil {
				return errDigestEnded
			}
			if _, ok := changed[string(k)]; ok {
				continue
			}
			body, err := boltfile.OpenValue(bucket, k, v)
			if err != nil {
				return err
			}
			add(k, body)
		}
		return nil
	})
}

// visit takes the digest of a group. It lets go of the state if it had to load it.
func (run *digestRun) visit(ctx context.Context, g *group) error {
	g.mu.Lock()
	was := g.loaded
	g.mu.Unlock()
	if err := run.s.loader.lockGroup(g); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if ctx.Err() != nil { // the next digest may have counted it
		return errDigestEnded
	}
	err := run.count(g)
	if !was && g.idle() {
		g.drop()
	}
	return err
}

// count takes the digest of the states of a group, unless that was done. The caller holds g.mu.
func (run *digestRun) count(g *group) error {
	if g.counted == run.pos {
		return nil
	}
	g.counted = run.pos
	if g.pos > run.pos {
		return errDigestAhead
	}
	var sum mixer
	var words []uint64
	some := false
	for i := range g.n {
		if !g.alive(i) {
			continue
		}
		some = true
		if err := g.usable(i); err != nil {
			return err
		}
		sum.add(uint64(g.ref(i)))
		sum.add(uint64(g.defs[i]))
		words = g.loadWords(i, words)
		for _, w := range words {
			sum.add(w)
		}
		for j := i * g.c.sources; j < (i+1)*g.c.sources; j++ {
			sum.add(g.ctx[j])
			sum.add(uint64(g.ctxTag[j]))
		}
	}
	if some {
		sum.bytes(held.Append(appendTexts(nil, g.texts), g.held))
		run.sum.Add(sum.value())
	}
	return nil
}

// changes returns the metadata that the database does not hold; nil: it is removed.
func (md *metadata) changes() map[string]*Metadata {
	md.mu.RLock()
	defer md.mu.RUnlock()
	return maps.Clone(md.changed)
}

// A mixer makes one number of many, in their order. It is for numbers that nobody chooses to
// collide. Another mixer needs another digestVersion.
type mixer struct{ h uint64 }

func (m *mixer) add(v uint64) {
	h := m.h ^ v*0x9e3779b97f4a7c15
	m.h = (h<<29|h>>35)*0xbf58476d1ce4e5b9 + 0x94d049bb133111eb
}

func (m *mixer) bytes(b []byte) {
	m.add(uint64(len(b)))
	for len(b) > 0 {
		var v uint64
		n := min(len(b), 8)
		for i := range n {
			v |= uint64(b[i]) << (8 * i)
		}
		m.add(v)
		b = b[n:]
	}
}

// value returns the number.
func (m *mixer) value() uint64 {
	h := m.h
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
