package alerts

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// Report returns the answer of the RPC's method Alerts to a request with a limit. Errors are ctx's
// and the store's, which the marks alone need.
func (m *Manager) Report(ctx context.Context, selects Selects, req *rondov1.AlertsRequest) (*rondov1.AlertsResponse, error) {
	list, counts := m.List()
	marks, rules, err := m.marksOf(ctx, selects, req)
	answer := &rondov1.AlertsResponse{
		Firing: int64(counts[Firing]), Pending: int64(counts[Pending]), Resolved: int64(counts[Resolved]),
		NowUs: time.Now().UnixMicro(), Rules: int64(rules), Marks: marks,
	}
	for _, a := range list[:min(len(list), int(req.GetLimit()))] {
		x := &rondov1.Alert{
			Name: valid(a.Name), State: string(a.State), SinceUs: a.Since.UnixMicro(), Value: a.Value, Group: valid(a.Group),
			Expr: valid(a.Expr), Compared: valid(a.Compared), Threshold: a.Threshold, Annotations: textsOf(a.Annotations),
		}
		x.Labels = slices.DeleteFunc(textsOf(a.Labels), func(l *typesv1.Label) bool { return l.GetName() == labels.AlertName })
		answer.Alerts = append(answer.Alerts, x)
	}
	return answer, err
}

func textsOf(ls labels.Labels) (out []*typesv1.Label) {
	ls.Range(func(l labels.Label) { out = append(out, &typesv1.Label{Name: valid(l.Name), Value: valid(l.Value)}) })
	return out
}
