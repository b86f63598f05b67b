package alerts

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// Report returns the answer of the RPC's method Alerts with at most so many alerts, and with the
// marks of paths. It fails as Marks does.
func (m *Manager) Report(ctx context.Context, selects Selects, limit int, paths []string) (*rondov1.AlertsResponse, error) {
	list, counts := m.List()
	marks, rules, err := m.Marks(ctx, selects, paths)
	answer := &rondov1.AlertsResponse{
		Firing: int64(counts[Firing]), Pending: int64(counts[Pending]), Resolved: int64(counts[Resolved]),
		NowUs: time.Now().UnixMicro(), Rules: int64(rules),
	}
	for _, a := range list[:min(len(list), limit)] {
		x := &rondov1.Alert{
			Name: valid(a.Name), State: string(a.State), SinceUs: a.Since.UnixMicro(), Value: a.Value, Group: valid(a.Group),
			Expr: valid(a.Expr), Compared: valid(a.Compared), Threshold: a.Threshold, Annotations: textsOf(a.Annotations),
		}
		x.Labels = slices.DeleteFunc(textsOf(a.Labels), func(l *typesv1.Label) bool { return l.GetName() == labels.AlertName })
		answer.Alerts = append(answer.Alerts, x)
	}
	for _, k := range marks {
		x := &rondov1.AlertMark{Path: valid(k.Path), Ds: valid(k.DS), Name: valid(k.Name), Threshold: k.Threshold}
		for _, s := range k.Spans {
			x.Spans = append(x.Spans, &rondov1.AlertSpan{SinceUs: s.Since.UnixMicro(), FiredUs: micros(s.Fired), UntilUs: micros(s.Until)})
		}
		answer.Marks = append(answer.Marks, x)
	}
	return answer, err
}

// micros returns a time in microseconds; 0: never.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func textsOf(ls labels.Labels) (out []*typesv1.Label) {
	ls.Range(func(l labels.Label) { out = append(out, &typesv1.Label{Name: valid(l.Name), Value: valid(l.Value)}) })
	return out
}

// valid returns a text as the RPC can send it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
