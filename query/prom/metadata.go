package prom

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
)

// maxMetadata bounds the metrics in one answer of Storage.Metadata, and maxVariants what is said of
// one of them.
const (
	maxMetadata = 100_000
	maxVariants = 16
)

// Metadata returns the metadata of a metric, or of all metrics if the name is empty: what is kept
// beside the paths of their series as units and description, or came by remote write. The buckets,
// the sum and the count of a histogram or a summary are one metric, named as in Prometheus. At most
// 100,000 metrics are returned, and 16 variants of each. They are of series that the user of ctx
// reaches.
func (s *Storage) Metadata(ctx context.Context, metric string) (map[string][]metadata.Metadata, error) {
	all := make(map[string][]metadata.Metadata)
	u := access.From(ctx)
	for x, err := range access.Of(ctx, s.store).ListMetadata(ctx, "", "") {
		if err != nil {
			return nil, u.Hide(err)
		}
		m, ok := metadataOf(x.Attributes)
		if !ok {
			continue
		}
		series, err := s.seriesAt(x.Path)
		if err != nil {
			return nil, u.Hide(err)
		}
		if series == nil || !u.Reaches(series.Path) {
			continue
		}
		for _, x := range s.entryOf(series).metrics {
			family, own := familyOf(x.labels.Get(model.MetricNameLabel), m, x.counter)
			known, there := all[family]
			switch {
			case metric != "" && family != metric, slices.Contains(known, own):
			case len(known) == maxVariants, !there && len(all) == maxMetadata:
			default:
				all[family] = append(known, own)
			}
		}
	}
	return all, nil
}

// seriesAt returns the series of a path, or nil: a path may have metadata and no series.
func (s *Storage) seriesAt(path string) (*core.Series, error) {
	ref, err := s.store.Lookup(path)
	if err == nil {
		var x core.Series
		if x, err = core.SeriesOf(context.Background(), s.store, ref); err == nil {
			return &x, nil
		}
	}
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return nil, err
}

// knownTypes are the types that a metric may have.
var knownTypes = []model.MetricType{
	model.MetricTypeGauge, model.MetricTypeCounter, model.MetricTypeHistogram, model.MetricTypeGaugeHistogram,
	model.MetricTypeSummary, model.MetricTypeInfo, model.MetricTypeStateset,
}

// metadataOf returns what attributes say of a metric. ok is false if they say nothing.
func metadataOf(attributes []core.Label) (m metadata.Metadata, ok bool) {
	for _, a := range attributes {
		switch a.Name {
		case "help", "description":
			m.Help = cmp.Or(m.Help, a.Value)
		case "unit", "units":
			m.Unit = cmp.Or(m.Unit, a.Value)
		case "type":
			if t := model.MetricType(a.Value); slices.Contains(knownTypes, t) {
				m.Type = t
			}
		}
	}
	return m, m != metadata.Metadata{}
}

// familyOf returns the name and the metadata of the family of a metric.
func familyOf(name string, m metadata.Metadata, counter bool) (string, metadata.Metadata) {
	if m.Type == model.MetricTypeHistogram || m.Type == model.MetricTypeSummary {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if family, ok := strings.CutSuffix(name, suffix); ok {
				return family, m
			}
		}
	}
	if counter {
		m.Type = model.MetricTypeCounter
	} else if m.Type == "" || m.Type == model.MetricTypeCounter && strings.HasSuffix(name, rateSuffix) {
		m.Type = model.MetricTypeGauge
	}
	return name, m
}
