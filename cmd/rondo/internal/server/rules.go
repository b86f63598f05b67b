package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/rra"
)

// rulesClient is the sender of what rules record.
const rulesClient = "rules"

// alertsFile is the name of the file in the database's folder that keeps alerts.
const alertsFile = "alerts.json"

func (s *server) newRules() (*alerts.Manager, error) {
	c := s.Config.Rules
	if len(c.Files) > 0 { // else there is nothing to keep
		c.StateFile = filepath.Join(s.DB, alertsFile)
	}
	c.Query = func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
		return s.queries.Instant(ctx, expr, at)
	}
	c.Record, c.Logger = s.recordRule, s.Logger
	return alerts.New(c)
}

// recordRule stores the samples of a recording rule.
func (s *server) recordRule(ctx context.Context, at time.Time, step time.Duration, samples []alerts.Sample) error {
	reqs := make([]receivers.Request, len(samples))
	for i, sample := range samples {
		var ls []core.Label
		sample.Labels.Range(func(l labels.Label) { ls = append(ls, core.Label{Name: l.Name, Value: l.Value}) })
		reqs[i] = receivers.Request{
			Identity: remotewrite.Identify(ls), Sender: rulesClient, Time: rra.TimeOf(at),
			Define: func(policy int64) *rra.Definition {
				if policy == 0 {
					policy = int64(step / time.Second)
				}
				return receivers.StandardDefinition(policy)
			},
		}
	}
	sink := s.receivers.sink
	if err := sink.Resolve(ctx, reqs); err != nil {
		return err
	}
	var b core.Batch
	var errs []error
	for i, r := range reqs {
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Path, r.Err))
			continue
		}
		b.Add(r.Ref, rra.TimeOf(at), rra.Float(samples[i].Value))
	}
	p, err := sink.Submit(ctx, &b)
	if err == nil {
		err = p.Wait()
	}
	return errors.Join(append(errs, err)...)
}

// rulesJSON and alertsJSON answer Prometheus' API. Users who are limited to folders see no rules
// and no alerts: rules are evaluated over all series, and an alert does not say which it is about.
func (s *server) rulesJSON(ctx context.Context, r *http.Request) (groups []byte, next string, err error) {
	if s.rules == nil || access.From(ctx).Limited() {
		return []byte("[]"), "", nil
	}
	return s.rules.Rules(r)
}

func (s *server) alertsJSON(ctx context.Context, _ *http.Request) ([]byte, error) {
	if s.rules == nil || access.From(ctx).Limited() {
		return []byte("[]"), nil
	}
	return s.rules.Alerts()
}

// reportAlerts returns the answer of the RPC's method Alerts.
func (s *server) reportAlerts(ctx context.Context, req *rondov1.AlertsRequest) (*rondov1.AlertsResponse, error) {
	return s.rules.Report(ctx, s.series.Selects, req)
}
