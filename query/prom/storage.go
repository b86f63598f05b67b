package prom

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
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

// Listings are lists of names and values of labels that were asked for, sorted. They are kept until
// the catalogue changes: dashboards ask for the same ones again and again, and to find one takes a
// look at every value there is.
type listings struct {
	kept  map[string][]string
	bytes int64
	age   int // how often all were forgotten
	share *core.MemoryShare
}

// listedBytes is what the listings of a storage may take together.
const listedBytes = 32 << 20

func (l *listings) forget() {
	l.age++
	if len(l.kept) > 0 {
		l.kept, l.bytes = nil, 0
		_ = l.share.Resize(0) // less memory is always there
	}
}

// keep keeps a listing that was begun at an age, if nothing has changed since and there is memory.
func (l *listings) keep(age int, key string, list []string) {
	if _, twice := l.kept[key]; twice || l.age != age {
		return
	}
	n := int64(len(key)) + 64
	for _, s := range list {
		n += int64(len(s)) + 16
	}
	if n > listedBytes {
		return
	}
	if l.bytes+n > listedBytes {
		l.forget()
	}
	if l.share.Resize(l.bytes+n) != nil {
		return
	}
	if l.kept == nil {
		l.kept = make(map[string][]string)
	}
	l.kept[key] = list
	l.bytes += n
}

// A Rule names the metric and the labels of series by their paths, as the mappings of
// graphite_exporter do.
type Rule struct {
	Path   *regexp.Regexp // matches a whole path, without a trailing .rrd
	Name   string         // of the metric; $1, ${name} stand for what Path has matched
	Labels []labels.Label // sorted by name; the values may have $1, ${name}, too
}

// dsVariable stands for the name of the data source in a Rule.
const dsVariable = "${ds}"

// NewRule returns a rule for the paths that match the whole expression path. In name and in the
// values of labels, $1 and ${name} stand for groups of the expression, and ${ds} for the name of
// the data source.
func NewRule(path, name string, ls map[string]string) (Rule, error) {
	re, err := regexp.Compile(whole(path))
	if err != nil {
		return Rule{}, fmt.Errorf("the path of a metric: %w", err)
	}
	r := Rule{Path: re, Name: name}
	if name == "" {
		return Rule{}, fmt.Errorf("the metric of %q has no name", path)
	}
	for k, v := range ls {
		if !model.LegacyValidation.IsValidLabelName(k) || k == model.MetricNameLabel {
			return Rule{}, fmt.Errorf("the metric of %q: %q is no name of a label", path, k)
		}
		r.Labels = append(r.Labels, labels.Label{Name: k, Value: v})
	}
	slices.SortFunc(r.Labels, func(a, b labels.Label) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// whole returns an expression that matches whole texts only. A dot in it stands for a line break,
// too, as in Prometheus.
func whole(expression string) string { return "^(?s:" + expression + ")$" }

// saysDS reports whether r distinguishes the data sources of a series.
func (r *Rule) saysDS() bool {
	return strings.Contains(r.Name, dsVariable) || slices.ContainsFunc(r.Labels, func(l labels.Label) bool {
		return l.Name == "ds" || strings.Contains(l.Value, dsVariable)
	})
}

// expand returns a template with what the expression has matched in path.
func (r *Rule) expand(template, path, ds string, match []int) string {
	template = strings.ReplaceAll(template, dsVariable, strings.ReplaceAll(ds, "$", "$$"))
	return string(r.Path.ExpandString(nil, template, path, match))
}

// cfLabel is a label that only selectors have: its value is the consolidation function of the
// archive that answers.
const cfLabel = "__cf__"

// A selector is a selector of a query: what metrics must match.
type selector struct {
	matchers []*labels.Matcher
	names    []*labels.Matcher // the matchers that are about the name
	rates    bool              // it asks for metrics by rateSuffix
	forced   bool              // the selector names the consolidation function,
	cf       rra.CF            // which is this one
}

func newSelector(ms []*labels.Matcher) (*selector, error) {
	sel := &selector{}
	for _, m := range ms {
		if m.Name == model.MetricNameLabel {
			sel.names = append(sel.names, m)
			asks := m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp
			sel.rates = sel.rates || asks && strings.Contains(m.Value, rateSuffix)
		}
		if m.Name != cfLabel {
			sel.matchers = append(sel.matchers, m)
			continue
		}
		cf, err := rra.ParseCF(m.Value)
		if m.Type != labels.MatchEqual || err != nil {
			return nil, fmt.Errorf(`%s: want %s="AVERAGE", "MIN", "MAX" or "LAST"`, m, cfLabel)
		}
		sel.forced, sel.cf = true, cf
	}
	return sel, nil
}

func (sel *selector) matches(x *metric) bool {
	for _, m := range sel.matchers {
		if !m.Matches(x.labels.Get(m.Name)) {
			return false
		}
	}
	return sel.rates || !x.unsent
}

// asks reports whether sel selects a metric by its name.
func (sel *selector) asks(x *metric) bool { return sel.mayBe(x.name()) && (sel.rates || !x.unsent) }

func (sel *selector) mayBe(name string) bool {
	return !slices.ContainsFunc(sel.names, func(m *labels.Matcher) bool { return !m.Matches(name) })
}
