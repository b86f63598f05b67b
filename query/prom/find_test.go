package prom_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/rra"
)

// selected returns the labels that a selector finds for the user of ctx, sorted.
func (w *world) selected(ctx context.Context, ms ...*labels.Matcher) (found []labels.Labels) {
	w.Helper()
	return w.selectedWithin(ctx, math.MinInt64, math.MaxInt64, ms...)
}

// selectedWithin returns what a selector finds for a time, in milliseconds.
func (w *world) selectedWithin(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) (found []labels.Labels) {
	w.Helper()
	q, err := w.prom.Querier(mint, maxt)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	set := q.Select(ctx, true, &storage.SelectHints{Func: "series"}, ms...)
	for set.Next() {
		found = append(found, set.At().Labels())
	}
	if set.Err() != nil {
		w.Fatalf("%v: %v", ms, set.Err())
	}
	return found
}

// A census makes and changes series of all protocols at random.
type census struct {
	*world
	r     *rand.Rand
	defs  []*rra.Definition
	paths []string
	made  int
}

func (c *census) pick(words ...string) string { return words[c.r.IntN(len(words))] }

// labels returns the labels of a random series, of one of eight kinds.
func (c *census) labels() string {
	host := "host=" + c.pick("h1", "h2", "h3")
	switch c.r.IntN(8) {
	case 0, 1:
		var text strings.Builder
		text.WriteString(host + " plugin=" + c.pick("cpu", "df", "cpu-freq", "load") + " type=" + c.pick("percent", "load", "df"))
		for _, l := range []string{" plugin_instance=", " type_instance="} {
			if c.r.IntN(2) == 0 {
				text.WriteString(l + c.pick("0", "1", "idle"))
			}
		}
		return text.String()
	case 2:
		return host + " metric=" + c.pick("load.one", "load_one", "mem") + " cluster=" + c.pick("c1", "c2")
	case 3:
		return "plugin=" + c.pick("a", "b") + " owner=" + c.pick("host", "vm") + " name=" + c.pick("cpu0", "cpu-1") + " uuid=u1"
	case 4:
		return "category=" + c.pick("GC", "JIT") + " name=" + c.pick("x", "y") + " peer=" + c.pick("h1", "h1#2", "h2")
	case 5:
		return "peer=" + c.pick("h1", "h2") + " token=" + c.pick("temp", "load") + " index=" + c.pick("0", "1")
	case 6:
		return "__name__=" + c.pick("up", "http_requests_total", "collectd_load", "x:y", "up:rate") + " instance=" + c.pick("h1", "h2") + " job=" + c.pick("a", "b")
	}
	return c.pick("", "room=7", "plugin=cpu", "metric=mem room=8", "peer=h1", "job=a")
}

// step changes the catalogue.
func (c *census) step() {
	c.Helper()
	ctx := context.Background()
	var err error
	switch n := c.r.IntN(10); {
	case n < 6 || len(c.paths) == 0:
		c.made++
		path := fmt.Sprintf("s/%d", c.made)
		d := c.defs[c.r.IntN(len(c.defs))]
		_, err = c.store.Create(ctx, core.Spec{Path: path, Labels: labelsOf(c.labels()), Definition: d, Start: rra.Seconds(t0)})
		c.paths = append(c.paths, path)
	case n == 6:
		i := c.r.IntN(len(c.paths))
		err = core.Drop(ctx, c.store, c.paths[i])
		c.paths = slices.Delete(c.paths, i, i+1)
	case n == 7:
		_, err = c.store.Relabel(ctx, []core.PathLabels{{Path: c.paths[c.r.IntN(len(c.paths))], Labels: labelsOf(c.labels())}})
	case n == 8:
		i := c.r.IntN(len(c.paths))
		c.made++
		to := fmt.Sprintf("t/%d", c.made)
		err = c.store.Rename(ctx, c.paths[i], to)
		c.paths[i] = to
	default:
		err = c.store.Checkpoint(ctx)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// matcher returns a random matcher.
func (c *census) matcher() *labels.Matcher {
	names := []string{"instance", "cpu", "type", "cpu_freq", "df", "cluster", "scope", "plugin", "process", "index", "job", "path", "ds", "room", "raw_name", "none"}
	values := []string{"", "h1", "h2", "0", "idle", "c1", "vm", "2", "a", "s/1", "value", "7", "h.*", "h1|h3", ".+", ".*", "[0-9]", "s/.*", "|h1", "load.one", "cpu-freq/.*"}
	if c.r.IntN(3) == 0 {
		names = []string{"__name__"}
		values = []string{
			"collectd_load", "collectd_cpu_percent", "collectd_cpu_percent_total", "ganglia_load_one", "xen_cpu0", "mono_GC_x_total", "smon_temp", "up",
			"http_requests_total", "http_requests_total:rate", ".*:rate", "up:r.*", "rrd", "rrd_total", "collectd_.*", ".*load.*", ".+", ".*_total", "collectd_cpu_.*|up", "x:y",
		}
	}
	return labels.MustNewMatcher(labels.MatchType(c.r.IntN(4)), c.pick(names...), c.pick(values...))
}

// Matchers are translated to stored labels. What they find is compared with a walk over everything.
func TestMatchersFindWhatAWalkFinds(t *testing.T) {
	seed := seedtest.One(t)
	rule, err := prom.NewRule(`t/(.*)`, "moved", map[string]string{"nth": "$1"})
	if err != nil {
		t.Fatal(err)
	}
	for round, rules := range [][]prom.Rule{nil, {rule}} {
		c := &census{world: newWorld(t, rules...), r: rand.New(rand.NewPCG(seed, uint64(round)))}
		two := definition(rra.Gauge, 10, 1)
		two.Sources = append(two.Sources, two.Sources[0])
		two.Sources[0].Name = "read"
		c.defs = []*rra.Definition{definition(rra.Gauge, 10, 1), definition(rra.Derive, 10, 1), two}
		for range 12 {
			for range 12 {
				c.step()
			}
			c.compare(access.Everything())
			c.compare(c.tenant())
		}
	}
}

// tenant returns a random user who is limited to folders.
func (c *census) tenant() *access.User {
	folders := []string{}
	switch c.r.IntN(4) {
	case 0:
		folders = append(folders, "s")
	case 1:
		folders = append(folders, "t", "none")
	default:
		for range c.r.IntN(len(c.paths) + 1) {
			folders = append(folders, c.pick(c.paths...))
		}
	}
	return &access.User{Name: "tenant", Role: access.Read, Folders: folders}
}

// compare compares random selectors of a user with a walk over all metrics.
func (c *census) compare(u *access.User) {
	c.Helper()
	ctx := access.With(context.Background(), u)
	for range 25 {
		var ms []*labels.Matcher
		for range c.r.IntN(4) {
			ms = append(ms, c.matcher())
		}
		var want, kept []labels.Labels
		names, values := make(map[string]bool), make(map[string]bool)
		name := c.pick("__name__", "instance", "cpu", "type", "process", "path", "job", "cluster", "raw_name")
		asked := slices.ContainsFunc(ms, func(m *labels.Matcher) bool {
			return m.Name == "__name__" && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) && strings.Contains(m.Value, ":rate")
		})
		all, shown := prom.Everything(c.prom, u, asked)
		for i, ls := range all {
			if slices.ContainsFunc(ms, func(m *labels.Matcher) bool { return !m.Matches(ls.Get(m.Name)) }) {
				continue
			}
			want, kept = append(want, shown[i]), append(kept, ls)
			ls.Range(func(l labels.Label) {
				names[l.Name] = true
				if l.Name == name {
					values[l.Value] = true
				}
			})
		}
		slices.SortFunc(want, labels.Compare)
		got := c.selected(ctx, ms...)
		if !slices.EqualFunc(got, want, labels.Equal) {
			c.Fatalf("%v:\n%v\nwant\n%v", ms, got, want)
		}
		if !u.Limited() {
			var some []labels.Labels
			err := c.prom.Selects(ctx, append(c.paths, "none"), [][]*labels.Matcher{nil, ms}, func(list int, _, _ string, ls labels.Labels, _ bool) {
				if list == 1 {
					some = append(some, ls)
				}
			})
			slices.SortFunc(some, labels.Compare)
			slices.SortFunc(kept, labels.Compare)
			if err != nil || !slices.EqualFunc(some, kept, labels.Equal) {
				c.Fatalf("%v by paths: %v, %v\nwant\n%v", ms, some, err, kept)
			}
		}
		for i := 1; i < len(got); i++ {
			if labels.Equal(got[i-1], got[i]) {
				c.Fatalf("%v: two metrics %v", ms, got[i])
			}
		}
		q, err := c.prom.Querier(0, 1)
		if err != nil {
			c.Fatal(err)
		}
		gotNames, _, err := q.LabelNames(ctx, nil, ms...)
		if wantNames := slices.Sorted(maps.Keys(names)); err != nil || !slices.Equal(gotNames, wantNames) {
			c.Fatalf("names of %v: %v, %v; want %v", ms, gotNames, err, wantNames)
		}
		gotValues, _, err := q.LabelValues(ctx, name, nil, ms...)
		if wantValues := slices.Sorted(maps.Keys(values)); err != nil || !slices.Equal(gotValues, wantValues) {
			c.Fatalf("values of %s of %v: %v, %v; want %v", name, ms, gotValues, err, wantValues)
		}
		if err := q.Close(); err != nil {
			c.Fatal(err)
		}
	}
}
