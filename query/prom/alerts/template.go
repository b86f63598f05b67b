package alerts

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/internal/template"
)

// An expander fills in the templates of labels and annotations in one evaluation of a rule.
type expander struct {
	query    func(ctx context.Context, expr string, at time.Time) (promql.Vector, error)
	external *url.URL // nil: nowhere
	at       time.Time
	texts    int // bytes of all texts so far
}

func (e *expander) expand(ctx context.Context, name, text string, s promql.Sample) string {
	out, err := e.try(ctx, "__alert_"+name, text, s)
	if err == nil && e.texts+len(out) > maxTexts {
		err = fmt.Errorf("the texts of the rule have more than %d bytes", maxTexts)
	}
	if err != nil {
		out = "<error expanding template: " + shortened(err.Error()) + ">"
	}
	e.texts += len(out)
	return out
}

// shortened returns the begin and the end of an error, which may repeat the whole template.
func shortened(s string) string {
	const part = 500
	if len(s) <= 2*part {
		return s
	}
	return strings.ToValidUTF8(s[:part]+"…"+s[len(s)-part:], "")
}

func (e *expander) try(ctx context.Context, name, text string, s promql.Sample) (string, error) {
	if e.texts > maxTexts {
		return "", fmt.Errorf("the texts of the rule have more than %d bytes", maxTexts)
	}
	if ctx.Err() != nil {
		return "", errSlow
	}
	const begin = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	b := &textBudget{ctx: ctx}
	t, err := template.Parse(name, begin+text, e.functions(ctx))
	if err != nil {
		return "", fmt.Errorf("error parsing template %v: %w", name, err)
	}
	t.Count = b.count
	var out strings.Builder
	data := struct {
		Labels, ExternalLabels map[string]string
		ExternalURL            string
		Value                  any
	}{s.Metric.Map(), nil, addressOf(e.external), valueOf(s)}
	if err := t.Execute(&out, name, data); err != nil {
		return "", fmt.Errorf("error executing template %v: %w", name, err)
	}
	return out.String(), nil
}

// valueOf returns the value of a sample: a number, or a histogram.
func valueOf(s promql.Sample) any {
	if s.H != nil {
		return s.H
	}
	return s.F
}

// functions returns the functions that Prometheus documents for templates.
func (e *expander) functions(ctx context.Context) template.Funcs {
	all := maps.Clone(functions)
	maps.Copy(all, template.Funcs{
		"query": func(expr string) ([]*foundSample, error) { return e.find(ctx, expr) },
		"now":   func() float64 { return float64(e.at.UnixMilli()) / 1000 },
		"pathPrefix": func() string {
			if e.external == nil {
				return ""
			}
			return e.external.Path
		},
		"externalURL": func() string { return addressOf(e.external) },
	})
	return all
}

// find runs a query for a template.
func (e *expander) find(ctx context.Context, expr string) ([]*foundSample, error) {
	v, err := e.query(ctx, expr, e.at.Truncate(time.Millisecond))
	if err != nil {
		return nil, err
	}
	if len(v) > maxFound {
		return nil, fmt.Errorf("the query finds %d samples, a template may have %d", len(v), maxFound)
	}
	all := make([]*foundSample, len(v))
	for i, s := range v {
		all[i] = &foundSample{s.Metric.Map(), valueOf(s)}
	}
	return all, nil
}
