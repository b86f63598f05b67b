package core

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A checkpoint moves what is in memory into the database, group by group, in
// transactions of some groups each, while appends go on.
//
//  1. Note position B: every record at or below it is applied.
//  2. For each group that changed: take a snapshot under its lock (state record,
//     coded rows), build its blocks, write them in one transaction with those of
//     other groups, then forget the coded rows.
//  3. Write the changes of the catalogue at or below B, with B.
//  4. Cut the log up to B.
//
// A crash between any two steps is an ordinary day: each group's record carries
// the position it stands for, and replay passes over what lies at or below it.
// The catalogue comes last, so that replay of a creation gives the numbers the
// groups know already.

// A transaction has groupsPerTx groups at most. It ends when it is larger than txBytes, but a few
// groups share one even if they are large, as after an import: bbolt keeps two to four blocks of a
// slot in one leaf, and each transaction writes the last leaf of every slot once more. More than
// txMost bytes it does not gather.
const (
	groupsPerTx = 256
	groupsFew   = 8
	txBytes     = 8 << 20
	txMost      = 64 << 20
)

// A snapshot is what one group writes in a checkpoint.
type snapshot struct {
	g      *group
	pos    wal.Pos
	state  []byte // without the directory, which the transaction settles
	frozen []*pending.Rows
	dir    *rowblock.Directory // with the blocks of this checkpoint

	last  []int64   // by stream: the newest row of any series
	lows  [][]int64 // by stream and series: the oldest row it keeps
	alive []bool
}

type pair struct{ k, v []byte }

// Checkpoint writes everything applied so far, every Append that has returned, into the database
// and shortens the log.
func (s *Store) Checkpoint(ctx context.Context) error {
	if err := s.enterWrite(); err != nil {
		return err
	}
	defer s.leave()
	s.appender.drain() // what has been acknowledged by one shard, others may not have passed over yet
	return s.checkpoint(ctx)
}

func (s *Store) checkpoint(ctx context.Context) error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	begun := time.Now()
	logged, replayed := s.admission.beginCheckpoint(), s.replayed.Swap(0)
	err := s.writeCheckpoint(ctx)
	took := time.Since(begun)
	s.statsMu.Lock()
	if err == nil {
		s.checkpoints++
		s.checkpointLast = took
		s.checkpointMax = max(s.checkpointMax, took)
	} else if ctx.Err() == nil { // a caller who gave up is no failure of the disk
		s.checkpointFailures++
	}
	s.statsMu.Unlock()
	s.admission.endCheckpoint(logged, err, ctx.Err() != nil)
	if err != nil {
		s.replayed.Add(replayed)
	}
	s.relieve()
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// appliedPos returns the position up to which every shard has applied the log.
func (s *Store) appliedPos() wal.Pos {
	p := s.shards[0].applied.Load()
	for _, sh := range s.shards[1:] {
		p = min(p, sh.applied.Load())
	}
	return wal.Pos(p)
}

func (s *Store) writeCheckpoint(ctx context.Context) error {
	if err := s.db.Mend(); err != nil { // first of all: groups may wait to be told what counts
		return err
	}
	b := s.appliedPos()
	if err := s.applyAllDeferred(); err != nil {
		return err
	}
	if err := s.writeGroups(ctx); err != nil {
		return err
	}
	s.failpoint("checkpoint-groups")
	if s.options.Sync != wal.SyncAlways { // the database must not run ahead of the log
		if _, err := s.log.Barrier(context.Background()); err != nil {
			return err
		}
	}
	if err := s.writeCatalogue(b); err != nil {
		return err
	}
	s.failpoint("checkpoint-catalogue")
	if s.pins > 0 {
		b = min(b, s.pinned)
	}
	err := s.log.Truncate(b)
	s.failpoint("checkpoint-end")
	return err
}

// writeGroups writes every changed group: while one chunk of snapshots is written, the next is
// taken.
func (s *Store) writeGroups(ctx context.Context) error {
	var failed atomic.Bool           // a chunk was not written: take no more
	chunks := make(chan []*snapshot) // unbuffered: two chunks are in memory at most
	var takeErr error
	go func() {
		defer close(chunks)
		takeErr = s.takeSnapshots(ctx, &failed, chunks)
	}()
	var err error
	for chunk := range chunks {
		if err == nil {
			if err = s.writeSnapshots(chunk); err != nil {
				failed.Store(true)
			}
			continue
		}
		for _, sn := range chunk {
			s.conclude(sn, false)
		}
	}
	if err != nil {
		return err
	}
	return takeErr
}

// takeSnapshots sends the snapshots of all changed groups, in chunks of one transaction each.
func (s *Store) takeSnapshots(ctx context.Context, failed *atomic.Bool, chunks chan<- []*snapshot) error {
	var chunk []*snapshot
	bytes := 0
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if err := ctx.Err(); err != nil || failed.Load() {
				for _, sn := range chunk {
					s.conclude(sn, false)
				}
				return err
			}
			sn := s.snapshot(g)
			if sn == nil {
				continue
			}
			chunk = append(chunk, sn)
			bytes += sn.size()
			if n := len(chunk); n == groupsPerTx || bytes > s.batchBytes() || bytes > txBytes && n >= groupsFew {
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

func (sn *snapshot) size() int {
	n := len(sn.state)
	for _, p := range sn.frozen {
		n += int(p.Bytes())
	}
	return n
}

// snapshot freezes what g has to write, or returns nil if it has not changed. The
// rows that are coded stay readable until forget.
func (s *Store) snapshot(g *group) *snapshot {
	sh := s.shards[g.shard]
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
	g.expireLongRuns()
	sn.state = g.appendState(s.takeBuffer())
	g.dirty = false
	return sn
}

// windows notes, by stream, the newest row of any series, and what each series still keeps.
func (g *group) windows(sn *snapshot) {
	c := g.c
	sn.last = make([]int64, len(c.streams))
	sn.lows = make([][]int64, len(c.streams))
	sn.alive = make([]bool, g.n)
	for st := range c.streams {
		sn.last[st] = -1 << 62
		sn.lows[st] = make([]int64, g.n)
	}
	empty := true
	for i := range g.n {
		sn.alive[i] = g.alive(i)
		empty = empty && !sn.alive[i]
		if !sn.alive[i] || g.refused[i] != nil {
			continue
		}
		at := g.lastUpdate(i).Unix()
		for st := range c.streams {
			k := rowblock.FloorDiv(at, c.streams[st].Span)
			sn.last[st] = max(sn.last[st], k)
			sn.lows[st][i] = k - c.streams[st].Rows + 1
		}
	}
	for i := range g.refused { // what it keeps cannot be told: as much as the newest of the others
		for st := range c.streams {
			sn.lows[st][i] = sn.last[st] - c.streams[st].Rows + 1
		}
	}
	if empty { // nothing will move the windows any more: all rows go
		for st := range sn.last {
			sn.last[st] = 1 << 62
		}
	}
}

// writeSnapshots writes some groups in one transaction and makes readers use it. After an error of
// the disk it may be later that groups are told whether it counts; no other snapshot of them is
// taken before, nor are they unloaded.
func (s *Store) writeSnapshots(chunk []*snapshot) error {
	if s.options.Sync != wal.SyncAlways { // the database must not run ahead of the log
		if _, err := s.log.Barrier(context.Background()); err != nil {
			for _, sn := range chunk {
				s.conclude(sn, false)
			}
			return err
		}
	}
	err := s.db.Update(nil, func(tx *boltfile.Tx) error {
		w := &checkpointTx{s: s, tx: tx, state: tx.Bucket(bucketState), rows: tx.Bucket(bucketRows), lag: tx.Bucket(bucketLag), buf: s.blockBuffer[:0]}
		for _, sn := range chunk {
			if err := w.settle(sn); err != nil {
				return err
			}
		}
		for _, sn := range chunk {
			sn.g.announce(tx.ID(), sn.dir)
		}
		if err := w.write(); err != nil {
			return err
		}
		if err := s.raise(tx, chunk); err != nil {
			return err
		}
		s.blockBuffer = w.buf
		s.failpoint("checkpoint-tx")
		return nil
	}, func(written bool) {
		s.failpoint("checkpoint-written") // and groups do not know it yet
		for _, sn := range chunk {
			s.conclude(sn, written)
		}
	})
	s.db.DropMapping()
	s.failpoint("checkpoint-between")
	return err
}

// batchBytes bounds what a checkpoint gathers for one transaction, within the budget of memory.
func (s *Store) batchBytes() int { return int(min(txMost, max(s.options.Memory/16, 1<<20))) }

// raise notes the highest log position that any group stands for: the log must not give it out
// again.
func (s *Store) raise(tx *boltfile.Tx, chunk []*snapshot) error {
	top, err := metaNumber(tx, metaGroups)
	if err != nil {
		return err
	}
	for _, sn := range chunk {
		top = max(top, uint64(sn.pos))
	}
	return putNumber(tx, metaGroups, top)
}

// announce tells readers what dir a transaction brings. Readers that see the transaction use it.
func (g *group) announce(tx int, dir *rowblock.Directory) {
	g.mu.Lock()
	g.nextTx, g.next = tx, dir
	g.mu.Unlock()
}

// conclude forgets the rows that are now in the database, or takes the snapshot back.
func (s *Store) conclude(sn *snapshot, written bool) {
	g := sn.g
	g.mu.Lock()
	defer g.mu.Unlock()
	s.giveBuffer(sn.state)
	if !written {
		g.dirty, g.nextTx, g.next = true, 0, nil
		return
	}
	for _, p := range sn.frozen {
		s.space.rowsStored.Add(p.Count())
		p.Free()
	}
	g.frozen = nil
	g.dir, g.dirTx = g.next, g.nextTx
	g.nextTx, g.next = 0, nil
	g.stored = true
}

func putSorted(b *boltfile.Bucket, pairs []pair) error {
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.k, b.k) })
	for _, p := range pairs {
		if err := b.Put(p.k, p.v); err != nil {
			return err
		}
	}
	return nil
}

// State records are coded into buffers that are used again.

func (s *Store) takeBuffer() []byte {
	s.buffersMu.Lock()
	defer s.buffersMu.Unlock()
	if n := len(s.stateBuffers); n > 0 {
		b := s.stateBuffers[n-1]
		s.stateBuffers = s.stateBuffers[:n-1]
		s.stateBuffersBytes -= cap(b)
		return b[:0]
	}
	return nil
}

func (s *Store) giveBuffer(b []byte) {
	s.buffersMu.Lock()
	defer s.buffersMu.Unlock()
	if cap(b) <= 1<<20 && len(s.stateBuffers) < groupsPerTx && s.stateBuffersBytes+cap(b) <= s.batchBytes() {
		s.stateBuffers = append(s.stateBuffers, b)
		s.stateBuffersBytes += cap(b)
	}
}
