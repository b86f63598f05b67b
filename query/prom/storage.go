package prom

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
)

const (
	// maxSeries is the largest number of metrics that one selector may find.
	maxSeries = 1_000_000
	// maxRows is the largest number of rows that the selectors of one query may read. They take 512
	// MiB.
	maxRows = 64 << 20
	// lookback is the LookbackDelta of the engine.
	lookback = 5 * time.Minute
)

// A LimitError says that a selector asked for more than it may.
type LimitError struct {
	What string // series or rows
	Most int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the query selects more than %d %s", e.Most, e.What)
}

// A Storage is a store as Prometheus' engine reads it. Its methods may be called at the same time.
// Where a context has a user who is limited to folders (see package access), what is asked with it
// is answered from the series in these folders only.
type Storage struct {
	store     core.Engine
	maxSeries int
	maxRows   int64
	named     atomic.Pointer[[]Rule]
	table     table
}

// rules returns the rules in force.
func (s *Storage) rules() []Rule { return *s.named.Load() }

// SetRules puts other rules in force.
func (s *Storage) SetRules(rules []Rule) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	s.named.Store(&rules)
	s.table.moves++
	s.table.forget()
}

// New returns the storage of a store. Rules name series that no protocol names: series of the
// command line, of files and of rrdcached. The first rule whose expression matches the path
// decides. The storage follows the catalogue of the store until End is called, or for as long as
// the store is open.
func New(s core.Engine, rules []Rule) *Storage {
	x := &Storage{store: s, maxSeries: maxSeries, maxRows: maxRows, table: table{share: core.ShareOf(s), listings: listings{share: core.ShareOf(s)}}}
	x.named.Store(&rules)
	return x
}

// End forgets the catalogue, and gives back the memory that the storage has of the budget of the
// store. No query is asked afterwards.
func (s *Storage) End() {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	s.table.moves++
	s.table.forget()
	if s.table.watch != nil {
		s.table.lose()
	}
}

// Querier returns a querier of the samples from mint to maxt, both included, in milliseconds since
// 1970. The caller closes it; the memory of its answers belongs to the budget of the store until
// then.
func (s *Storage) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{s: s, mint: mint, maxt: maxt, share: core.ShareOf(s.store)}, nil
}

// A querier answers the selectors of one query. It is for one goroutine at a time.
type querier struct {
	s          *Storage
	mint, maxt int64
	share      *core.MemoryShare
	rows       int64 // read so far
	metrics    int64 // found so far, at most
}

// What a query takes of the budget, in bytes.
const (
	rowBytes    = 8
	metricBytes = 256 // with its column
)

// charge makes the share of q as large as what q has read.
func (q *querier) charge() error {
	return q.share.Resize(rowBytes*q.rows + metricBytes*q.metrics)
}

// Close gives the memory of the answers up.
func (q *querier) Close() error { return q.share.Resize(0) }

var (
	_ storage.Queryable = (*Storage)(nil)
	_ storage.Querier   = (*querier)(nil)
)
