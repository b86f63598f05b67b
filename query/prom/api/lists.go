package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// series lists the labels of series.
func (h *Handler) series(r *http.Request, _ string) (res *result, err error) {
	if len(r.Form["match[]"]) == 0 {
		return nil, bad("no match[] parameter provided")
	}
	s, err := spanOf(r, `invalid parameter "match[]": %w`)
	if err != nil {
		return nil, err
	}
	q, err := h.Storage.Querier(s.start.UnixMilli(), s.end.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer func() { _ = q.Close() }() // it has been read
	hints := &storage.SelectHints{Start: s.start.UnixMilli(), End: s.end.UnixMilli(), Func: "series", Limit: s.most() + 1}
	var sets []storage.SeriesSet
	for _, ms := range s.sets {
		sets = append(sets, q.Select(r.Context(), true, hints, ms...))
	}
	set := sets[0]
	if len(sets) > 1 {
		set = storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	}
	res = &result{}
	found, cut, err := h.collect(r.Context(), set, s.most())
	res.warnings = set.Warnings()
	if err != nil {
		return res, err
	}
	if cut {
		res.warnings = res.warnings.Add(errCut)
	}
	res.data = func(o *output) {
		o.text("[")
		o.items(len(found), func(i int) { o.labels(found[i]) })
		o.text("]")
	}
	return res, nil
}

// collect returns the labels of a set, most of them at most. It charges them while it reads.
func (h *Handler) collect(ctx context.Context, set storage.SeriesSet, most int) (found []labels.Labels, cut bool, err error) {
	err = h.each(ctx, set, func(ls labels.Labels) (int64, bool) {
		if cut = len(found) == most; cut {
			return 0, false
		}
		found = append(found, ls)
		return labelBytes(ls), true
	})
	return found, cut, err
}

// each calls do for the labels of the series of a set until do returns false. It charges the bytes
// that do returns, which do keeps.
func (h *Handler) each(ctx context.Context, set storage.SeriesSet, do func(ls labels.Labels) (kept int64, more bool)) error {
	due := int64(0)
	for n := 1; set.Next(); n++ {
		kept, more := do(set.At().Labels())
		if !more {
			return h.charge(ctx, due)
		}
		if due += kept; due >= flushBytes {
			if err := h.charge(ctx, due); err != nil {
				return err
			}
			due = 0
		}
		if n%128 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := set.Err(); err != nil {
		return err
	}
	return h.charge(ctx, due)
}

// labelNames lists the names of labels.
func (h *Handler) labelNames(r *http.Request, _ string) (*result, error) {
	return h.names(r, func(q storage.Querier, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(r.Context(), hints, ms...)
	})
}

// labelValues lists the values of a label. The name of the label may be escaped in Prometheus' way,
// with U__ in front.
func (h *Handler) labelValues(r *http.Request, name string) (*result, error) {
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return nil, bad("invalid label name: %q", name)
	}
	return h.names(r, func(q storage.Querier, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(r.Context(), name, hints, ms...)
	})
}

type lister func(q storage.Querier, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error)

// names answers with the names that ask returns for each set of matchers, each once and sorted.
func (h *Handler) names(r *http.Request, ask lister) (*result, error) {
	s, err := spanOf(r, "%w")
	if err != nil {
		return nil, err
	}
	q, err := h.Storage.Querier(s.start.UnixMilli(), s.end.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer func() { _ = q.Close() }() // it has been read
	hints := &storage.LabelHints{Limit: s.most() + 1}
	res := &result{}
	if len(s.sets) == 0 {
		s.sets = [][]*labels.Matcher{nil}
	}
	seen := make(map[string]struct{})
	var names []string
	for _, ms := range s.sets {
		got, warnings, err := ask(q, hints, ms...)
		res.warnings = res.warnings.Merge(warnings)
		if err != nil {
			return res, err
		}
		if len(s.sets) == 1 {
			names = got
			break
		}
		for _, name := range got {
			seen[name] = struct{}{}
		}
	}
	if len(s.sets) > 1 {
		names = slices.Sorted(maps.Keys(seen))
	}
	if len(names) > s.most() {
		names = names[:s.most()]
		res.warnings = res.warnings.Add(errCut)
	}
	for _, name := range names {
		res.bytes += int64(len(name)) + 16
	}
	res.data = func(o *output) { o.list(names) }
	return res, nil
}
