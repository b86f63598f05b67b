package statsd

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxMetrics  = 1 << 19   // names of metrics, as senders write them
	maxNames    = 256 << 20 // bytes of metrics and their names, about
	maxKept     = 4 << 20   // values of timers: 32 MiB
	maxMembers  = 1 << 20   // members of sets that are counted exactly: about 50 MB
	metricBytes = 512       // what a metric takes beside its names, about
)

var (
	errFull    = &receivers.Error{Reason: receivers.Limit, What: "there are too many metrics"}
	errMembers = &receivers.Error{Reason: receivers.Limit, What: "the sets have too many members"}
)

// An aggregator keeps all metrics between two flushes.
type aggregator struct {
	set  settings
	seed maphash.Seed

	mu     sync.Mutex // guards what follows
	byKey  map[string]*metric
	byPath map[string]*metric
	all    []*metric // in the order in which they came
	kept   int       // values of timers
	exact  int       // members of sets, of those that are counted exactly
	held   int       // bytes of metrics and their names, about
	since  int64     // second of the last flush
	key    []byte
	most   int // metrics
}

func newAggregator(set settings, now int64) *aggregator {
	return &aggregator{
		set: set, seed: maphash.MakeSeed(), since: now, most: maxMetrics,
		byKey: make(map[string]*metric), byPath: make(map[string]*metric),
	}
}

// add takes a reading at the second now. sender is called for a new metric. a.mu is held.
func (a *aggregator) add(r *Reading, now int64, sender func() string) error {
	a.key = append(append(append(a.key[:0], r.Name...), 0, byte(r.Type)), r.Tags...)
	m := a.byKey[string(a.key)]
	if m == nil {
		var err error
		if m, err = a.enter(r, sender); err != nil {
			return err
		}
	}
	m.heard = now
	if r.Type == Set {
		return a.addMember(m, maphash.Bytes(a.seed, r.Member))
	}
	if m.add(r, a.kept < maxKept) {
		a.kept++
	}
	return nil
}

func (a *aggregator) addMember(m *metric, hash uint64) error {
	m.active = true
	before := len(m.set.exact)
	if a.exact >= maxMembers && m.set.sketch == nil {
		return errMembers
	}
	m.set.add(hash)
	a.exact += len(m.set.exact) - before
	return nil
}

// cost returns how many bytes a metric takes with one of its names, about.
func cost(m *metric, key string) int { return metricBytes + 2*len(key) + 3*len(m.id.Path) }

// enter finds the metric of a name that is new, or makes it.
func (a *aggregator) enter(r *Reading, sender func() string) (*metric, error) {
	if len(a.byKey) >= a.most || a.held >= maxNames {
		return nil, errFull
	}
	n, err := ParseName(r.Name, r.Tags)
	if err != nil {
		return nil, &receivers.Error{Reason: receivers.Malformed, What: err.Error()}
	}
	id := n.Identity(prefix + "/" + r.Type.String())
	m := a.byPath[id.Path]
	if m == nil {
		m = &metric{typ: r.Type, id: id, sender: sender()}
		a.byPath[id.Path] = m
		a.all = append(a.all, m)
	}
	key := string(a.key)
	a.byKey[key] = m
	a.held += cost(m, key)
	m.keys = append(m.keys, key)
	return m, nil
}

// A sample is what a flush makes of a metric.
type sample struct {
	m      *metric
	at     rra.Time
	values []rra.Value
	idle   bool // nothing has arrived: it says that nothing was counted, or the same again
}

// flush returns the samples of the time up to the second at, and begins anew. With last it leaves
// out metrics that nothing has arrived for. The metrics stay the caller's to resolve:
// only one flush runs at a time.
func (a *aggregator) flush(at int64, last bool) []sample {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(at)
	samples := make([]sample, 0, len(a.all))
	begin := a.begin(at)
	for _, m := range a.all {
		if !m.active && (last || a.sleeps(m)) {
			continue
		}
		if m.typ.rises() && m.flushed < begin && begin < at {
			// What is counted must not be spread over the time before the last flush.
			samples = append(samples, sample{m, rra.Seconds(begin), zero(m.typ, a.set.stats), true})
		}
		samples = append(samples, sample{m, rra.Seconds(at), m.appendValues(nil, a.set.stats), !m.active})
		m.flushed = at
		m.clear()
	}
	a.kept, a.exact, a.since = 0, 0, at
	return samples
}

// begin returns since when a flush at the second at counts: since the last flush, but for a step if
// the clock was set meanwhile.
func (a *aggregator) begin(at int64) int64 {
	if a.since <= at && a.since >= at-2*a.set.step {
		return a.since
	}
	return at - a.set.step
}

// zero returns the values of a counter or a timer for which nothing has arrived.
func zero(t Type, stats []statistic) []rra.Value {
	m := metric{typ: t}
	return m.appendValues(nil, stats)
}

// sleeps reports whether a metric has no sample when nothing has arrived for it.
func (a *aggregator) sleeps(m *metric) bool {
	if m.typ == Gauge && a.set.deleteGauges {
		m.value = 0 // a difference begins there
		return true
	}
	return a.set.deleteIdle
}

// forget forgets the metrics for which nothing has arrived for a long time. A metric that has no
// series is forgotten if nothing has arrived since the last flush.
func (a *aggregator) forget(now int64) {
	a.all = slices.DeleteFunc(a.all, func(m *metric) bool {
		m.heard = min(m.heard, now) // the clock may have been set back
		silent := a.set.forget > 0 && now-m.heard >= a.set.forget
		refused := m.Ref == 0 && m.Retry != 0
		if m.active || !silent && !refused {
			return false
		}
		for _, key := range m.keys {
			delete(a.byKey, key)
			a.held -= cost(m, key)
		}
		delete(a.byPath, m.id.Path)
		return true
	})
}

// resolveAgain makes all metrics ask for their series again.
func (a *aggregator) resolveAgain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.all {
		m.Series = receivers.Series{}
	}
}

// series returns how many metrics have a series. It is called between flushes.
func (a *aggregator) series() (n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.all {
		if m.Ref != 0 {
			n++
		}
	}
	return n
}
