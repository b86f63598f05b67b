package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/match"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// WithMaxClasses returns o with n in place of MaxClasses.
func (o Options) WithMaxClasses(n int) Options {
	o.maxClasses = n
	return o
}

// WithHook returns o with a function that is called at every failpoint, Open's included.
func (o Options) WithHook(fn func(string)) Options {
	o.hook = fn
	return o
}

// AwaitTold waits until the log has reported its failures to all who waited. Until then it refuses
// whatever comes with the same error.
func (s *Store) AwaitTold() {
	for s.logStats().Failures < s.appender.failures.Load() {
		time.Sleep(time.Millisecond)
	}
}

// WithRoom returns o with a disk that has as many bytes free as fn returns.
func (o Options) WithRoom(fn func() (int64, error)) Options {
	o.room = fn
	return o
}

// WithCompactFrom returns o with a store that is compacted when it is opened, if half of its file
// and so many bytes are free.
func (o Options) WithCompactFrom(bytes int64) Options {
	o.compactFrom = bytes
	return o
}

// WithFS returns o with the log on another file system.
func (o Options) WithFS(fs wal.FS) Options {
	o.fs = fs
	return o
}

// Abandon ends s as a crash would: nothing is written any more, and the folder is free.
func (s *Store) Abandon() error {
	if err := s.calls.close(); err != nil {
		return err
	}
	s.checkpoints.end()
	return s.abandon()
}

// SetHook makes s call fn at every failpoint. No call of s may be under way.
func (s *Store) SetHook(fn func(string)) { s.options.hook = fn }

// Readers counts the open transactions that read.
func (s *Store) Readers() int64 { return s.db.Readers() }

// DB is the database of s, for tests that damage it or look into it.
func (s *Store) DB() *boltfile.File { return s.db }

// EntriesRead returns how many entries of the label index are read to select by ms.
func (s *Store) EntriesRead(ctx context.Context, ms []Matcher) (n int, err error) {
	terms, err := match.Terms(ms)
	if err != nil {
		return 0, err
	}
	var passed damage.Skipped
	err = s.catalogue.view(ctx, &passed, func(r *labelindex.Reader) {
		r.Selected(terms)
		n = r.Read
	})
	return n, err
}

// GroupSize returns how many series a group of ref's class holds.
func (s *Store) GroupSize(ref Ref) int { return 1 << s.catalogue.class(ref.class()).shift }

// MaxQueued is how many bytes may be on their way to the disk before writers wait.
const MaxQueued = maxQueued

// Queued returns how many bytes of records are on their way to the disk.
func (s *Store) Queued() int64 { return s.appender.queue.bytes.Load() }

// Logged returns how many bytes of records came since the last checkpoint began.
func (s *Store) Logged() int64 { return s.admission.logged.Load() }

// UnloadIdle unloads every group that is wholly in the database, as a store short of memory does.
func (s *Store) UnloadIdle() int64 {
	before := s.space.unloaded.Load()
	s.checkpoints.unloadIdle()
	s.checkpoints.unloadIdle() // the first only notes that they were used
	return s.space.unloaded.Load() - before
}

// EditState changes the words of a series' state behind the store's back, as damage would.
func (s *Store) EditState(ref Ref, edit func(w []uint64)) error {
	return s.withSeries(ref, func(g *group, index int) {
		w := g.loadWords(index, nil)
		edit(w)
		g.storeWords(index, w)
		g.dirty = true
	})
}

// EditStored damages a state that the database has.
func (s *Store) EditStored() error {
	return s.db.Update(bucketState, func(tx *boltfile.Tx) error {
		k, v := tx.Bucket(bucketState).Cursor().First()
		if k == nil {
			return errors.New("no state is stored")
		}
		v = bytes.Clone(v)
		v[len(v)-1] ^= 1
		return tx.Bucket(bucketState).Put(k, v)
	}, nil)
}

// Paused reports whether somebody keeps all others from logging.
func (s *Store) Paused() bool {
	s.appender.mu.Lock()
	defer s.appender.mu.Unlock()
	return s.appender.paused != nil
}

// Arriving returns how many series are in the catalogue and not yet in their groups.
func (s *Store) Arriving() int { return int(s.catalogue.arriving.Load()) }

// SetFault makes the database ask fn at every step of a commit and of its mending. No call of s may
// be under way.
func (s *Store) SetFault(fn func(op string) error) {
	if fn == nil {
		s.db.SetFault(nil)
		return
	}
	s.db.SetFault(func(op string, _ *os.File, _ int64, _ []byte) error { return fn(op) })
}

// WithFault gives o with a function that is asked before calls on the database's file.
func (o Options) WithFault(fn func(op string, f *os.File, off int64, b []byte) error) Options {
	o.fault = fn
	return o
}

// MaxSlots is how many slots of an archive there are at most.
const MaxSlots = rowblock.MaxSlots

// FormatVersion is the version of the database that this program writes.
const FormatVersion = formatVersion

// Import is the function Import for s.
func (s *Store) Import(ctx context.Context, copies []Copy, overwrite bool) ([]Created, error) {
	return Import(ctx, s, copies, overwrite)
}

// ImportOld is Import for names that only an older version made.
func (s *Store) ImportOld(ctx context.Context, c Copy) (Created, error) {
	out, err := s.createAll(ctx, []Spec{c.Spec(false)}, CleanPath)
	return out[0], err
}

// Digest returns a digest of each group of series, named "class/group". It covers states, contexts,
// held samples and every row of every archive. Stores that applied the same log have the same
// digests, whenever they wrote checkpoints. Digest reads every group, so it costs as much as
// fetching everything.
func (s *Store) Digest(ctx context.Context) (map[string]uint64, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	out := make(map[string]uint64)
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			h, err := s.digest(ctx, g)
			if err != nil {
				return nil, err
			}
			out[fmt.Sprintf("%d/%d", c.id, g.id)] = h
		}
	}
	return out, nil
}

func (s *Store) digest(ctx context.Context, g *group) (uint64, error) {
	h := fnv.New64a()
	var buf []byte
	put := func(v uint64) {
		buf = binary.LittleEndian.AppendUint64(buf[:0], v)
		_, _ = h.Write(buf) // a hash does not fail
	}
	var refs []Ref
	if err := s.loader.lockGroup(g); err != nil {
		return 0, err
	}
	for i := range g.n {
		if !g.alive(i) {
			continue
		}
		refs = append(refs, g.ref(i))
		put(uint64(g.defs[i]))
		for _, w := range g.loadWords(i, nil) {
			put(w)
		}
		for j := i * g.c.sources; j < (i+1)*g.c.sources; j++ {
			put(g.ctx[j])
			put(uint64(g.ctxTag[j]))
		}
	}
	rest := held.Append(appendTexts(nil, g.texts), g.held)
	g.mu.Unlock()
	_, _ = h.Write(rest)
	for _, ref := range refs {
		if err := s.digestRows(ctx, ref, put); err != nil {
			return 0, err
		}
	}
	return h.Sum64(), nil
}

func (s *Store) digestRows(ctx context.Context, ref Ref, put func(uint64)) error {
	info, err := s.Info(ref)
	if err != nil {
		return err
	}
	last := info.Machine.LastUpdate(info.State.W).Unix()
	for i, a := range info.Definition.Archives {
		span := a.PDPs * info.Definition.Step
		end := rowblock.FloorDiv(last, span) * span
		rows, err := s.Fetch(ctx, ref, i, end-a.Rows*span, end)
		if err != nil {
			return err
		}
		for _, v := range rows.Values {
			if math.IsNaN(v) {
				v = math.NaN()
			}
			put(math.Float64bits(v))
		}
	}
	return nil
}

// Deliveries waits until every shard is idle, and returns how many deliveries each has been sent
// since the store was opened. It does not count its own.
func (s *Store) Deliveries() []uint64 {
	a := &s.appender
	a.drain()
	a.dispatching.Lock()
	defer a.dispatching.Unlock()
	var out []uint64
	for _, sh := range a.shards {
		sh.sent--
		sh.done.Store(sh.sent)
		out = append(out, sh.sent)
	}
	return out
}

// OldColumns returns in how many slots that the window of its group has passed a series has rows.
func (s *Store) OldColumns() map[Ref]int {
	out := make(map[Ref]int)
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(s.db.View(bucketRows, func(tx *boltfile.Tx) error {
		for _, c := range *s.catalogue.classes.Load() {
			for _, g := range *c.groups.Load() {
				must(s.loader.lockGroup(g))
				sn := &snapshot{g: g}
				g.windows(sn)
				for stream, entries := range g.dir.Slots {
					for _, e := range entries {
						for sub := e.Lo; sub < e.Hi && e.Slot < sn.windowSlot(stream); sub++ {
							key := rowblock.Key(nil, c.id, stream, e.Slot, sub, g.id)
							b, err := rowblock.Open(key, tx.Bucket(bucketRows).Get(key))
							must(err)
							for i := range b.Columns {
								if col, _ := b.Column(i); len(col) > 0 {
									out[g.ref(i/c.sources)]++
								}
							}
						}
					}
				}
				g.mu.Unlock()
			}
		}
		return nil
	}))
	return out
}
