package prom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/rra"
)

// The name of a metric follows from one or two labels of its series and from the definition. A
// table keeps each combination of these once, with the names that it gives: some thousand for a
// million series. A matcher of __name__ is compared with the names in the table, and becomes
// matchers of the stored labels.
//
// The table follows the catalogue by a watch. A combination stays in the table when its last series
// is dropped, because no count is kept: it then finds nothing.

// A combination is a kind of series whose metrics have the same names.
type combination struct {
	scheme  scheme
	values  []string // of the labels that make the name: see keyLabels
	metrics []metric // of their labels, __name__ and rawLabel are right
	alike   *int     // how many combinations have these values, with several definitions
}

// baseOf returns matchers that all series of a scheme fulfil.
var baseOf = [other][]core.Matcher{
	asSent:   {present(model.MetricNameLabel)},
	collectd: {present("plugin"), present("type"), present("host"), missing(model.MetricNameLabel)},
	ganglia:  {present("metric"), present("host"), missing(model.MetricNameLabel)},
	xen:      {present("plugin"), present("owner"), missing(model.MetricNameLabel)},
	mono:     {present("peer"), present("category"), missing(model.MetricNameLabel)},
	smon:     {present("peer"), present("token"), missing(model.MetricNameLabel)},
}

// basesOfOther find the series that no protocol names. Each such series fulfils all matchers of at
// least one line. Series of protocols may fulfil them, too.
var basesOfOther = [][]core.Matcher{
	{missing(model.MetricNameLabel), missing("plugin"), missing("metric"), missing("peer")},
	{missing(model.MetricNameLabel), present("plugin"), missing("owner"), missing("host")},
	{missing(model.MetricNameLabel), present("plugin"), missing("owner"), missing("type")},
	{missing(model.MetricNameLabel), present("metric"), missing("host")},
	{missing(model.MetricNameLabel), present("peer"), missing("category"), missing("token")},
}

func present(name string) core.Matcher { return core.Matcher{Name: name, Op: core.MatchNotEqual} }
func missing(name string) core.Matcher { return core.Matcher{Name: name} }

// maxChanges is how many changes of the catalogue wait for the next query.
const maxChanges = 64 << 10

// A table is what a storage remembers of the catalogue.
type table struct {
	mu      sync.Mutex // guards what follows
	watch   *core.Watch
	names   *nameTable
	dropped bool // since the table was made: some names may be in no use
	moves   int  // how many series have changed or gone
	entries map[core.Ref]*entry
	share   *core.MemoryShare // for entries

	listings listings
}

// entryBytes is about what a remembered series takes.
const entryBytes = 720

// forget forgets the metrics of all series, and all listings.
func (t *table) forget() {
	t.listings.forget()
	t.entries = make(map[core.Ref]*entry)
	_ = t.share.Resize(0) // less memory is always there
}

// keep remembers the metrics of series that were read after moves series had changed, if there is
// memory for them, and if none has changed since.
func (t *table) keep(moves int, refs []core.Ref, found []*entry, at []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.moves != moves || t.watch == nil || len(at) == 0 {
		return
	}
	if t.share.Resize(entryBytes*int64(len(t.entries)+len(at))) != nil {
		if t.forget(); t.share.Resize(entryBytes*int64(len(at))) != nil {
			return
		}
	}
	for _, i := range at {
		if found[i] != nil {
			t.entries[refs[i]] = found[i]
		}
	}
}

// update brings t up to date. The caller holds mu.
func (s *Storage) update(ctx context.Context, anew bool) error {
	t := &s.table
	if t.watch != nil && !anew {
		changes, complete := t.watch.Take()
		for i := range changes {
			if err := s.follow(&changes[i]); err != nil {
				t.lose() // the change has been taken from the watch
				return err
			}
		}
		if complete {
			return nil
		}
	}
	if t.watch != nil {
		t.watch.End()
	}
	t.watch = s.store.Watch(maxChanges)
	t.forget()
	t.moves++
	names, err := s.namesOf(ctx, access.Everything())
	if err != nil {
		t.lose()
		return err
	}
	t.names, t.dropped = names, false
	return nil
}

// lose ends the watch, so that the next update makes the table anew.
func (t *table) lose() {
	t.watch.End()
	t.watch = nil
}

// refresh makes the table anew if combinations may have gone.
func (s *Storage) refresh(ctx context.Context) error {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if err := s.update(ctx, false); err != nil || !s.table.dropped {
		return err
	}
	return s.update(ctx, true)
}

// follow takes a change of the catalogue into the table. An error says that the series cannot be
// asked for now.
func (s *Storage) follow(c *core.Change) error {
	t := &s.table
	if c.Metadata {
		return nil
	}
	t.listings.forget()
	if c.Was != "" {
		t.dropped = true
		t.moves++
	}
	delete(t.entries, c.Ref)
	if c.Path == "" {
		return nil
	}
	sch := schemeOf(c.Labels)
	if sch == other {
		return nil
	}
	x, err := core.SeriesOf(context.Background(), s.store, c.Ref)
	if errors.Is(err, core.ErrNotFound) {
		return nil // dropped meanwhile
	}
	if err != nil {
		return err
	}
	values := make([]string, len(keyLabels[sch]))
	for i, name := range keyLabels[sch] {
		values[i] = core.LabelValue(c.Labels, name)
	}
	s.combine(t.names, sch, values, x.Definition)
	return nil
}

// A nameTable is combinations and the names that they give.
type nameTable struct {
	seen   map[string]bool
	alike  map[string]*int // by scheme and values
	counts [other]int      // of combinations
	byName map[string][]*combination
}

// namesOf returns the combinations of the series that a user reaches.
func (s *Storage) namesOf(ctx context.Context, u *access.User) (*nameTable, error) {
	t := &nameTable{seen: make(map[string]bool), alike: make(map[string]*int), byName: make(map[string][]*combination)}
	for sch := range other {
		found, err := s.store.Labels(ctx, core.LabelQuery{Combine: true, Names: keyLabels[sch], Matchers: u.Below(baseOf[sch])})
		if err != nil {
			return nil, err
		}
		for _, c := range found.Combinations {
			s.combine(t, sch, c.Values, c.Definition)
		}
	}
	return t, nil
}

func (s *Storage) combine(t *nameTable, sch scheme, values []string, d *rra.Definition) {
	key := fmt.Sprintf("%d %p %q", sch, d, values)
	if t.seen[key] {
		return
	}
	t.seen[key] = true
	x := core.Series{Definition: d}
	for i, name := range keyLabels[sch] {
		x.Labels = append(x.Labels, core.Label{Name: name, Value: values[i]})
	}
	key = fmt.Sprintf("%d %q", sch, values)
	if t.alike[key] == nil {
		t.alike[key] = new(int)
	}
	c := &combination{scheme: sch, values: values, metrics: s.metricsOf(sch, &x), alike: t.alike[key]}
	*c.alike++
	t.counts[sch]++
	for k := range c.metrics {
		name := c.metrics[k].name()
		t.byName[name] = append(t.byName[name], c)
	}
}

// A naming is what a table knows of the names of one scheme's metrics.
type naming struct {
	found []*combination // combinations with a name that a selector selects
	all   bool           // the scheme has no others
	split bool           // the scheme has others with the same values and another definition
}

// byScheme returns the combinations that have names which sel selects. They cover all users.
func (s *Storage) byScheme(ctx context.Context, sel *selector) (found [other]naming, err error) {
	t := &s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := s.update(ctx, false); err != nil {
		return found, err
	}
	return t.names.byScheme(sel), nil
}

// ofUser returns the combinations of the series that a user reaches, if they have names which sel
// selects.
func (s *Storage) ofUser(ctx context.Context, u *access.User, sel *selector) (found [other]naming, err error) {
	if u.Limited() {
		names, err := s.namesOf(ctx, u)
		if err != nil {
			return found, err
		}
		return names.byScheme(sel), nil
	}
	if err := s.refresh(ctx); err != nil {
		return found, err
	}
	return s.byScheme(ctx, sel)
}

func (t *nameTable) byScheme(sel *selector) (found [other]naming) {
	alike := make(map[*int]int)
	for _, c := range t.named(sel) {
		found[c.scheme].found = append(found[c.scheme].found, c)
		alike[c.alike]++
	}
	for sch := range found {
		n := &found[sch]
		n.all = len(n.found) == t.counts[sch]
		n.split = slices.ContainsFunc(n.found, func(c *combination) bool { return alike[c.alike] < *c.alike })
	}
	return found
}

func (t *nameTable) named(sel *selector) (out []*combination) {
	seen := make(map[*combination]bool)
	add := func(name string) {
		for _, c := range t.byName[name] {
			if !seen[c] && slices.ContainsFunc(c.metrics, func(m metric) bool { return m.name() == name && sel.asks(&m) }) {
				seen[c] = true
				out = append(out, c)
			}
		}
	}
	for _, m := range sel.names {
		if m.Type == labels.MatchEqual {
			add(m.Value)
			return out
		}
		if set := m.SetMatches(); m.Type == labels.MatchRegexp && len(set) > 0 {
			for _, name := range set {
				add(name)
			}
			return out
		}
	}
	for name := range t.byName {
		add(name)
	}
	return out
}

// entriesOf calls fn with the metrics of each of refs, in order.
func (s *Storage) entriesOf(ctx context.Context, refs []core.Ref, fn func(ref core.Ref, e *entry) bool) error {
	t := &s.table
	found := make([]*entry, len(refs))
	var lack []core.Ref
	var at []int
	t.mu.Lock()
	moves := t.moves
	for i, ref := range refs {
		if found[i] = t.entries[ref]; found[i] == nil {
			lack, at = append(lack, ref), append(at, i)
		}
	}
	t.mu.Unlock()
	err := s.store.Resolve(ctx, lack, func(i int, x core.Series) bool {
		found[at[i]] = s.entryOf(&x)
		return true
	})
	if err != nil {
		return err
	}
	t.keep(moves, refs, found, at)
	for i, ref := range refs {
		if found[i] != nil && !fn(ref, found[i]) {
			return nil
		}
	}
	return nil
}
