package prom

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/rondo-db/rondo/engine/core"
)

// Metadata says what a metric is.
type Metadata struct {
	Type string // gauge, counter, histogram, summary, …
	Help string
	Unit string
}

// maxMetadata bounds the metrics in one answer of Storage.Metadata, and maxVariants what is said of
// one of them.
const (
	maxMetadata = 100_000
	maxVariants = 16
)

// Metadata returns the metadata of a metric, or of all metrics if the name is empty: what is kept
// beside the paths of their series as units and description, or came by remote write. The buckets,
// the sum and the count of a histogram or a summary are one metric, named as in Prometheus. At most
// 100,000 metrics are returned, and 16 variants of each.
func (s *Storage) Metadata(ctx context.Context, metric string) (map[string][]Metadata, error) {
	all := make(map[string][]Metadata)
	for x, err := range s.store.ListMetadata(ctx, "", "") {
		if err != nil {
			return nil, err
		}
		m, ok := metadataOf(x.Attributes)
		if !ok {
			continue
		}
		series, err := s.seriesAt(x.Path)
		if err != nil {
			return nil, err
		}
		if series == nil {
			continue
		}
		for _, name := range s.entryOf(series).metrics {
			family, own := familyOf(name.labels.Get(model.MetricNameLabel), m, name.counter)
			if known := all[family]; metric != "" && family != metric || len(known) == maxVariants || known == nil && len(all) == maxMetadata || slices.Contains(known, own) {
				continue
			}
			all[family] = append(all[family], own)
		}
	}
	return all, nil
}

// seriesAt returns the series of a path; nil if there is none, as for paths that have texts only.
func (s *Storage) seriesAt(path string) (*core.Series, error) {
	ref, err := s.store.Lookup(path)
	if err == nil {
		var x core.Series
		if x, err = s.store.Series(ref); err == nil {
			return &x, nil
		}
	}
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return nil, err
}

// metadataOf returns what attributes say of a metric. ok is false if they say nothing.
func metadataOf(attributes []core.Label) (m Metadata, ok bool) {
	for _, a := range attributes {
		switch a.Name {
		case "help", "description":
			m.Help = cmp.Or(m.Help, a.Value)
		case "unit", "units":
			m.Unit = cmp.Or(m.Unit, a.Value)
		case "type":
			if slices.Contains([]string{"gauge", "counter", "histogram", "gaugehistogram", "summary", "info", "stateset"}, a.Value) {
				m.Type = a.Value
			}
		}
	}
	return m, m != Metadata{}
}

// familyOf returns the name and the metadata of the family of a metric.
func familyOf(name string, m Metadata, counter bool) (string, Metadata) {
	if m.Type == "histogram" || m.Type == "summary" {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if family, ok := strings.CutSuffix(name, suffix); ok {
				return family, m
			}
		}
	}
	if counter {
		m.Type = "counter"
	} else if m.Type == "" || m.Type == "counter" && strings.HasSuffix(name, ":rate") {
		m.Type = "gauge"
	}
	return name, m
}
