package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// The entries of each list of status/tsdb.
const (
	usualTop = 10
	mostTop  = 10_000
)

// A tally is an entry of a list of status/tsdb.
type tally struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// A labelTally is what is counted of one label.
type labelTally struct {
	bytes  uint64            // of its name and its values, of all series
	series map[string]uint64 // how many have the value
}

// A census counts the labels of series.
type census struct {
	series  uint64
	byLabel map[string]*labelTally
}

// add counts the labels of a series, and returns the bytes of the texts that are kept of them.
func (c *census) add(ls labels.Labels) (kept int64) {
	c.series++
	ls.Range(func(l labels.Label) {
		t := c.byLabel[l.Name]
		if t == nil {
			name := strings.Clone(l.Name)
			t = &labelTally{series: make(map[string]uint64)}
			c.byLabel[name] = t
			kept += int64(len(name)) + 200
		}
		t.bytes += uint64(len(l.Name) + len(l.Value))
		if t.series[l.Value] == 0 {
			kept += int64(len(l.Value)) + 64
			t.series[strings.Clone(l.Value)]++
			return
		}
		t.series[l.Value]++
	})
	return kept
}

// top returns the n greatest of some tallies, the greatest first.
func top(all []tally, n int) []tally {
	slices.SortFunc(all, func(a, b tally) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name)) })
	return all[:min(n, len(all))]
}

// tsdb answers with how many series and labels there are, and which have the most.
func (h *Handler) tsdb(r *http.Request, _ string) (*result, error) {
	n := usualTop
	if limit, err := limitParam(r); err != nil {
		return nil, err
	} else if r.FormValue("limit") != "" {
		if limit < 1 || limit > mostTop {
			return nil, bad("limit must be 1 to %d", mostTop)
		}
		n = limit
	}
	c, err := h.count(r.Context())
	if err != nil {
		return nil, err
	}
	names, values, memory, pairs := []tally{}, []tally{}, []tally{}, []tally{}
	count := 0
	for label, t := range c.byLabel {
		count += len(t.series)
		values = append(values, tally{label, uint64(len(t.series))})
		memory = append(memory, tally{label, t.bytes})
		own := make([]tally, 0, len(t.series))
		for value, n := range t.series {
			own = append(own, tally{value, n})
		}
		own = top(own, n)
		if label == model.MetricNameLabel {
			names = slices.Clone(own)
		}
		for _, x := range own {
			pairs = append(pairs, tally{label + "=" + x.Name, x.Value})
		}
	}
	type head struct {
		Series  uint64 `json:"numSeries"`
		Pairs   int    `json:"numLabelPairs"`
		Chunks  int64  `json:"chunkCount"`
		MinTime int64  `json:"minTime"`
		MaxTime int64  `json:"maxTime"`
	}
	return encoded(struct {
		Head   head    `json:"headStats"`
		Names  []tally `json:"seriesCountByMetricName"`
		Values []tally `json:"labelValueCountByLabelName"`
		Memory []tally `json:"memoryInBytesByLabelName"`
		Pairs  []tally `json:"seriesCountByLabelValuePair"`
	}{head{Series: c.series, Pairs: count, MaxTime: h.now().UnixMilli()}, names, top(values, n), top(memory, n), top(pairs, n)})
}

// count counts the series that whoever asks may see, name by name: together they may be more than
// one selector may find.
func (h *Handler) count(ctx context.Context) (*census, error) {
	q, err := h.Storage.Querier(minTime.UnixMilli(), maxTime.UnixMilli())
	if err != nil {
		return nil, err
	}
	names, _, err := q.LabelValues(ctx, model.MetricNameLabel, nil)
	c := &census{byLabel: make(map[string]*labelTally)}
	for _, name := range names {
		if err == nil {
			err = h.countNamed(ctx, c, name)
		}
	}
	return c, errors.Join(err, q.Close())
}

// countNamed counts the series of a name.
func (h *Handler) countNamed(ctx context.Context, c *census, name string) error {
	q, err := h.Storage.Querier(minTime.UnixMilli(), maxTime.UnixMilli())
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }() // it has been read
	hints := &storage.SelectHints{Start: minTime.UnixMilli(), End: maxTime.UnixMilli(), Func: "series"}
	set := q.Select(ctx, false, hints, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, name))
	return h.each(ctx, set, func(ls labels.Labels) (int64, bool) { return c.add(ls), true })
}
