package prom

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

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
