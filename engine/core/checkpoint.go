package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A checkpoint moves the memory of changed groups into the database, some groups in each
// transaction, while appends go on.
//
//  1. Note position B: every record at or below B is applied.
//  2. For each changed group, take a snapshot under its lock: state record and coded rows. Arrange
//     the rows in blocks. Write blocks and states of some groups in one transaction. Then forget
//     the coded rows.
//  3. Write the changes of the catalogue at or below B, together with B.
//  4. Truncate the log up to B, unless stores share it: see Store.Truncate.
//
// A crash between any two steps loses nothing. The state record of each group carries the log
// position that it includes, and replay skips records at or below that position. The catalogue
// comes last, so that replay of a creation gives the numbers that the groups know already.

// A transaction has groupsPerTx groups at most, and gathers at most txMost bytes. It ends when it
// is larger than txBytes, but groupsFew groups share one even if they are large, as after an
// import: bbolt keeps two to four blocks of a slot in one leaf page, and each transaction writes
// the last leaf of every slot once more.
const (
	groupsPerTx = 256
	groupsFew   = 8
	txBytes     = 4 << 20
	txMost      = 64 << 20
)

// A checkpointer writes checkpoints, one at a time.
type checkpointer struct {
	s *Store

	replayed atomic.Int64 // bytes of records replayed at open, which no checkpoint has covered yet

	// For Stats. A checkpoint that its caller cancelled is no failure.
	written, failures atomic.Uint64
	last, longest     atomic.Int64 // how long the last one took, and the longest: time.Duration

	// mu is held for the length of a checkpoint, and while somebody reads the buckets of the
	// catalogue or walks the file. It guards what follows. It is taken before every other lock of
	// the store.
	mu      sync.Mutex
	scratch checkpointScratch
	pins    int     // how many callers need the log behind pinned: backups, and a repair
	pinned  wal.Pos // the log at and below this position may go

	truncating sync.Mutex // held while a log that stores share is truncated; taken before mu

	stop       context.CancelFunc // ends the background goroutine; nil: it does not run
	background sync.WaitGroup
}

// run writes a checkpoint. What every shard has applied when it begins is in the database when it
// ends.
func (cp *checkpointer) run(ctx context.Context) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	begun := time.Now()
	logged, replayed := cp.s.admission.beginCheckpoint(), cp.replayed.Swap(0)
	err := cp.write(ctx)
	cancelled := ctx.Err() != nil
	cp.s.admission.endCheckpoint(logged, err, cancelled)
	defer cp.relieve()
	if err != nil {
		if !cancelled {
			cp.failures.Add(1)
		}
		cp.replayed.Add(replayed)
		return fmt.Errorf("checkpoint: %w", err)
	}
	took := int64(time.Since(begun))
	cp.written.Add(1)
	cp.last.Store(took)
	cp.longest.Store(max(cp.longest.Load(), took))
	return nil
}

// pin keeps the log behind pos until unpin. The caller holds mu.
func (cp *checkpointer) pin(pos wal.Pos) {
	cp.pins++
	if cp.pins == 1 || pos < cp.pinned {
		cp.pinned = pos
	}
}

// unpin lets checkpoints truncate the log again.
func (cp *checkpointer) unpin() {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	cp.pins--
}

// write does the work of run. The caller holds mu.
func (cp *checkpointer) write(ctx context.Context) error {
	if err := cp.s.db.Mend(); err != nil { // first: groups may wait to learn what counts
		return err
	}
	b := cp.appliedPos()
	if err := cp.s.loader.applyAllDeferred(); err != nil {
		return err
	}
	err := cp.writeGroups(ctx)
	cp.scratch = checkpointScratch{}
	if err != nil {
		return err
	}
	cp.s.failpoint("checkpoint-groups")
	if err := cp.awaitLog(); err != nil {
		return err
	}
	if err := cp.s.writeCatalogue(b); err != nil {
		return err
	}
	cp.s.failpoint("checkpoint-catalogue")
	if cp.s.options.Follow == nil {
		err = cp.s.log.get().Truncate(cp.droppable(b))
	}
	cp.s.failpoint("checkpoint-end")
	return err
}

// droppable returns up to where the log may be truncated, if b is what the store itself allows. A
// pin that is set later lies at or above it: it is at the position of the catalogue in the
// database, as b is at most. The caller holds mu.
func (cp *checkpointer) droppable(b wal.Pos) wal.Pos {
	if cp.pins > 0 {
		b = min(b, cp.pinned)
	}
	return b
}

// awaitLog waits until everything in the log is durable, because the database must not run ahead of
// the log. With SyncAlways, and in a log of another kind than segments, every applied record is
// durable already.
func (cp *checkpointer) awaitLog() error {
	if cp.s.options.Sync == wal.SyncAlways || cp.s.options.elsewhere() {
		return nil
	}
	_, err := cp.s.log.get().Barrier(context.Background())
	return err
}

// appliedPos returns the position up to which every shard has applied the log.
func (cp *checkpointer) appliedPos() wal.Pos {
	p := cp.s.appender.shards[0].applied.Load()
	for _, sh := range cp.s.appender.shards[1:] {
		p = min(p, sh.applied.Load())
	}
	return wal.Pos(p)
}

// writeGroups writes every changed group. It takes the next chunk of snapshots while one is
// written.
func (cp *checkpointer) writeGroups(ctx context.Context) error {
	var failed atomic.Bool           // a chunk was not written: take no more
	chunks := make(chan []*snapshot) // unbuffered: two chunks are in memory at most
	var takeErr error
	go func() {
		defer close(chunks)
		takeErr = cp.takeSnapshots(ctx, &failed, chunks)
	}()
	var err error
	for chunk := range chunks {
		if err != nil {
			cp.conclude(chunk, false)
		} else if err = cp.writeSnapshots(chunk); err != nil {
			failed.Store(true)
		}
	}
	return cmp.Or(err, takeErr)
}

// snapshot freezes the coded rows and the state of g, or returns nil if g has not changed. Fetches
// read the frozen rows until conclude drops them.
func (cp *checkpointer) snapshot(g *group) *snapshot {
	sh := cp.s.appender.shards[g.shard]
	sh.mu.Lock() // between two records
	defer sh.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.loaded || (!g.dirty && len(g.frozen) == 0) {
		return nil
	}
	if !g.pend.Empty() {
		p := g.pend
		g.frozen = append(slices.Clip(g.frozen), &p)
		g.pend = pending.Rows{}
	}
	sn := &snapshot{g: g, pos: g.pos, frozen: g.frozen, dir: g.dir.Clone(len(g.c.streams))}
	g.windows(sn)
	sn.state = g.appendState(make([]byte, 0, g.stateSize+g.stateSize/8))
	g.dirty, g.stateSize = false, len(sn.state)
	return sn
}

// takeSnapshots sends the snapshots of all changed groups, in chunks of one transaction each.
func (cp *checkpointer) takeSnapshots(ctx context.Context, failed *atomic.Bool, chunks chan<- []*snapshot) error {
	var chunk []*snapshot
	bytes := 0
	for _, c := range *cp.s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if err := ctx.Err(); err != nil || failed.Load() {
				cp.conclude(chunk, false)
				return err
			}
			sn := cp.snapshot(g)
			if sn == nil {
				continue
			}
			chunk = append(chunk, sn)
			bytes += sn.size()
			if n := len(chunk); n == groupsPerTx || bytes > cp.batchBytes() || bytes > txBytes && n >= groupsFew {
				chunks <- chunk
				chunk, bytes = nil, 0
			}
		}
	}
	if len(chunk) > 0 {
		chunks <- chunk
	}
	return nil
}

// writeSnapshots writes some groups in one transaction and makes readers use it. After an error of
// the disk, conclude may run later, when it is known whether the transaction counts. Until then the
// groups are neither unloaded nor snapshotted again.
func (cp *checkpointer) writeSnapshots(chunk []*snapshot) error {
	if err := cp.awaitLog(); err != nil {
		cp.conclude(chunk, false)
		return err
	}
	err := cp.s.db.Update(nil, func(tx *boltfile.Tx) error {
		w := &checkpointTx{cp: cp, tx: tx, rows: tx.Bucket(bucketRows), checkpointScratch: &cp.scratch}
		w.buf = w.buf[:0]
		for _, sn := range chunk {
			if err := w.add(sn); err != nil {
				return err
			}
		}
		for _, sn := range chunk {
			sn.g.announce(tx.ID(), sn.dir)
		}
		if err := w.write(); err != nil {
			return err
		}
		if err := cp.raise(tx, chunk); err != nil {
			return err
		}
		cp.s.failpoint("checkpoint-tx")
		return nil
	}, func(written bool) {
		cp.s.failpoint("checkpoint-written") // and groups do not know it yet
		cp.conclude(chunk, written)
	})
	cp.s.db.DropMapping()
	cp.s.failpoint("checkpoint-between")
	return err
}

// relieve ends a checkpoint for the writers: it unloads idle groups if memory is short, and lets
// waiting writers look again.
func (cp *checkpointer) relieve() {
	if cp.s.space.Used() > cp.s.options.Memory/2 {
		cp.unloadIdle()
	}
	cp.s.admission.relieve()
}

// unloadIdle unloads the groups that have not been used since the last checkpoint.
func (cp *checkpointer) unloadIdle() {
	sh := cp.s.appender.shards[0] // all have the same window
	sh.mu.Lock()
	reorders := sh.reorder != 0
	sh.mu.Unlock()
	for _, c := range *cp.s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			cp.s.appender.mu.Lock() // it guards the coding context
			g.unloadIdle(reorders)
			cp.s.appender.mu.Unlock()
		}
	}
}

// batchBytes returns how many bytes a checkpoint gathers for one transaction at most, given the
// budget of memory.
func (cp *checkpointer) batchBytes() int { return int(min(txMost, max(cp.s.options.Memory/16, 1<<20))) }

// raise stores the highest log position that any group includes. The log must never give that
// position to another record.
func (cp *checkpointer) raise(tx *boltfile.Tx, chunk []*snapshot) error {
	top, err := metaNumber(tx, metaGroups)
	if err != nil {
		return err
	}
	for _, sn := range chunk {
		top = max(top, uint64(sn.pos))
	}
	return putNumber(tx, metaGroups, top)
}

// announce shows readers which directory a transaction brings. Readers that see the transaction use
// that directory.
func (g *group) announce(tx int, dir *rowblock.Directory) {
	g.mu.Lock()
	g.nextTx, g.next = tx, dir
	g.mu.Unlock()
}

// conclude ends the snapshots of a transaction.
func (cp *checkpointer) conclude(chunk []*snapshot, written bool) {
	for _, sn := range chunk {
		sn.conclude(written)
	}
}

// conclude drops the frozen rows if the transaction of the snapshot counts; otherwise it undoes the
// snapshot.
func (sn *snapshot) conclude(written bool) {
	g := sn.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if !written {
		g.dirty, g.nextTx, g.next = true, 0, nil
		return
	}
	for _, p := range sn.frozen {
		g.c.space.rowsStored.Add(p.Count())
		p.Free()
	}
	g.frozen = nil
	g.dir, g.dirTx = g.next, g.nextTx
	g.nextTx, g.next = 0, nil
	g.stored = true
}

// A snapshot is what one group writes in a checkpoint.
type snapshot struct {
	g      *group
	pos    wal.Pos
	state  []byte // without the directory, which the transaction adds
	frozen []*pending.Rows
	dir    *rowblock.Directory // with the blocks of this checkpoint

	last   []int64   // by stream: the newest row of any series
	lows   [][]int64 // by stream and series: the oldest row it keeps
	alive  []bool
	living int // how many of alive
}

func (sn *snapshot) size() int {
	n := len(sn.state)
	for _, p := range sn.frozen {
		n += int(p.Bytes())
	}
	return n
}

// windows notes, by stream, the newest row of any series, and the oldest row that each series
// keeps.
func (g *group) windows(sn *snapshot) {
	c := g.c
	sn.last = make([]int64, len(c.streams))
	sn.lows = make([][]int64, len(c.streams))
	sn.alive = make([]bool, g.n)
	for st := range c.streams {
		sn.last[st] = -1 << 62
		sn.lows[st] = make([]int64, g.n)
	}
	for i := range g.n {
		if sn.alive[i] = g.alive(i); !sn.alive[i] {
			continue
		}
		sn.living++
		if g.refused[i] != nil {
			continue
		}
		at := g.lastUpdate(i).Unix()
		for st := range c.streams {
			k := rowblock.FloorDiv(at, c.streams[st].Span)
			sn.last[st] = max(sn.last[st], k)
			sn.lows[st][i] = k - c.streams[st].Rows + 1
		}
	}
	for i := range g.refused { // its last update is unknown: keep as much as the newest series does
		for st := range c.streams {
			sn.lows[st][i] = sn.last[st] - c.streams[st].Rows + 1
		}
	}
	if sn.living == 0 { // no series will move the windows any more: drop all rows
		for st := range sn.last {
			sn.last[st] = 1 << 62
		}
	}
}
