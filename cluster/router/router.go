package router

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// A Directory knows which engine has a partition at the moment. Its methods may be called
// concurrently. An error says why there is no engine.
type Directory interface {
	// Partitions returns the number of partitions, from 1 to MaxPartitions. It never changes.
	Partitions() int
	// Leader returns the engine that takes the changes of partition p, counted from 0. If nobody
	// leads the partition, Leader waits for a leader until ctx ends. If ctx has ended already,
	// Leader answers without waiting.
	Leader(ctx context.Context, p int) (core.Engine, error)
	// Reader returns an engine that answers questions about partition p: a replica in this process
	// if there is one. It waits as Leader does.
	Reader(ctx context.Context, p int) (core.Engine, error)
}

// Options says how a Store behaves. The zero value is what production runs.
type Options struct {
	// Wait is how long a call waits for a partition that has no leader, or no reader, before it
	// returns an error that wraps core.ErrUnavailable; 0: 25 s.
	Wait time.Duration
	// MaxSeries is the largest number of series of all partitions; 0: 10 million. Where several
	// routers create series at the same moment, there may be some more.
	MaxSeries int
	// Memory is the budget in bytes of what MemoryShare gives; 0: 1 GiB.
	Memory int64
}

func (o Options) withDefaults() Options {
	o.Wait = cmp.Or(o.Wait, 25*time.Second)
	o.MaxSeries = cmp.Or(o.MaxSeries, 10_000_000)
	o.Memory = cmp.Or(o.Memory, 1<<30)
	return o
}

// A Store is the engine over all partitions of a Directory. Its methods do what core.Store's do.
type Store struct {
	dir     Directory
	n       int // partitions
	options Options

	session    uint64          // of the numbers of lanes; with the last bit changed of other changes
	calls      []atomic.Uint64 // by partition: the last number of a change that no lane makes
	marks      []mark          // by partition, of all callers together
	lanes      []lane          // by partition
	deliveries sync.Pool       // of *delivery
	strays     atomic.Uint64   // samples that were refused: their references are of no partition
	doubt      doubt
	limit      limit
	budget     budget

	countsMu sync.Mutex // guards what follows: counters as partitions have said them last
	stats    []core.Stats
	renames  []uint64
}

var _ core.Engine = (*Store)(nil)

// New returns the engine over the partitions of dir. The error wraps core.ErrInvalid if dir has no
// partitions, or too many, or if an option is below 0.
func New(dir Directory, o Options) (*Store, error) {
	n := dir.Partitions()
	if n < 1 || n > MaxPartitions {
		return nil, fmt.Errorf("%d partitions, from 1 to %d are possible: %w", n, MaxPartitions, core.ErrInvalid)
	}
	if o.Wait < 0 || o.MaxSeries < 0 || o.Memory < 0 {
		return nil, fmt.Errorf("an option of the router is below 0: %+v: %w", o, core.ErrInvalid)
	}
	r := &Store{
		dir: dir, n: n, options: o.withDefaults(), session: rand.Uint64() | 2, calls: make([]atomic.Uint64, n), marks: make([]mark, n), lanes: make([]lane, n),
		stats: make([]core.Stats, n), renames: make([]uint64, n),
	}
	for p := range r.lanes {
		l := &r.lanes[p]
		l.p, l.session, l.wait, l.leader = p, r.session, r.options.Wait, r.leaderUntil
	}
	r.limit.most = int64(r.options.MaxSeries)
	r.limit.ask = func() (series, paths int64) {
		st := r.Stats()
		return st.Series, st.Metadata
	}
	r.budget.most = r.options.Memory
	return r, nil
}

// Partitions returns the number of partitions.
func (r *Store) Partitions() int { return r.n }

// PartitionOf returns the partition, counted from 0, that a path belongs to. A path that no series
// can have belongs to the first one, which says what is wrong with it.
func (r *Store) PartitionOf(path string) int {
	key, _, err := core.CleanPath(path)
	if err != nil {
		return 0
	}
	return Partition(key, r.n)
}

// inner returns the partition of a reference and the reference within the partition. ok is false if
// the reference names no partition.
func (r *Store) inner(ref core.Ref) (p int, in core.Ref, ok bool) {
	p = int(ref>>partitionShift) - 1
	return p, ref & (1<<partitionShift - 1), p >= 0 && p < r.n
}

// MaxPartitions is the largest number of partitions.
const MaxPartitions = 4096

// partitionShift is where the number of the partition begins in a reference.
const partitionShift = 48

// Partition returns the partition, of n, of a look-up key: a path without leading slash and
// trailing .rrd, as core.CleanPath returns it. It is the 64-bit FNV-1a hash of the key, mixed by
// the last step of MurmurHash3, modulo n. It is the same for ever: the series of a cluster are
// where it has put them.
func Partition(key string, n int) int {
	h := uint64(0xcbf29ce484222325)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	// The low bits of FNV-1a depend on the low bits of each byte only.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return int((h ^ h>>33) % uint64(n))
}

// Inner returns the partition of a reference, counted from 0, and the reference that the series has
// there. The partition is -1 if the reference is of none.
func Inner(ref core.Ref) (p int, in core.Ref) {
	p = int(ref>>partitionShift) - 1
	if p < 0 || p >= MaxPartitions {
		return -1, 0
	}
	return p, ref & (1<<partitionShift - 1)
}

// Outer returns the reference that a router has for a series of partition p. The zero reference
// stays zero.
func Outer(p int, ref core.Ref) core.Ref {
	if ref == 0 {
		return 0
	}
	return core.Ref(p+1)<<partitionShift | ref
}
