package otlp

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/steps"
	"github.com/rondo-db/rondo/rra"
)

// newcomer keeps a value until its series is resolved. e.mu is held.
func (e *export) newcomer(k key, p *part, r reading) {
	n := &e.news
	if len(n.values) == 0 {
		n.generation = e.generation
	}
	i, ok := n.byKey[k]
	if !ok {
		q, err := e.request(p, r)
		if err != nil {
			e.Drop(receivers.Limit, 1)
			e.reject(err.Error(), 1)
			return
		}
		if n.byKey == nil {
			n.byKey = make(map[key]int)
		}
		i = len(n.reqs)
		n.byKey[k] = i
		a := &asked{key: k, texts: e.dec.texts(), job: core.LabelValue(q.Labels, "job"), mode: r.mode, first: r.at, known: e.step}
		if a.known == 0 && a.job != "" {
			a.known = e.learned.Step(a.job)
		}
		q.Define = a.define
		n.reqs, n.asked = append(n.reqs, q), append(n.asked, a)
	} else if a := n.asked[i]; a.between == 0 {
		a.between = steps.Apart(r.at - a.first)
	}
	n.values = append(n.values, newcomer{i, r})
}

// request returns the request for the series of a value, without Define.
func (e *export) request(p *part, r reading) (receivers.Request, error) {
	d := &e.dec
	if e.named != d.fresh {
		e.named = d.fresh
		e.name, e.nameErr = metricName(receivers.Text(d.name), receivers.Text(d.unit), d.typ, d.mode)
	}
	if e.nameErr != nil {
		return receivers.Request{}, e.nameErr
	}
	resource, err := attributes(d.resource)
	if err != nil {
		return receivers.Request{}, err
	}
	attrs, err := attributes(d.point.attrs)
	if err != nil {
		return receivers.Request{}, err
	}
	q := receivers.Request{
		Identity: identify(resource, attrs, e.name, receivers.Text(d.name), p, r.mode == info),
		Sender:   e.from,
		Time:     r.at,
	}
	for _, a := range resource {
		if a.name == "host.name" {
			q.Sender = receivers.LabelText(a.value)
		}
	}
	if r.mode.adds() {
		q.Time = firstOf(r)
	} else if since := r.at - r.start; r.start > 0 && since > 0 && since <= rra.Seconds(2*cmp.Or(e.step, guessedStep)) {
		q.Time = r.start // a counter that has just begun is known from its beginning on
	}
	return q, nil
}

// guessedStep is the step of a new series that nothing is known of, in seconds: the interval of the
// exporters of OpenTelemetry's SDKs.
const guessedStep = 60

// define returns the definition of a new series. step is in seconds; 0: guessedStep. An SDK also
// sends when its program ends, so that a step may be learned that is too short. Therefore the
// heartbeat is no shorter than two steps of the SDKs.
func define(m mode, step int64) *rra.Definition {
	d := receivers.StandardDefinition(cmp.Or(step, guessedStep))
	d.Sources[0].Heartbeat = max(d.Sources[0].Heartbeat, 2*guessedStep)
	switch m {
	case counter:
		d.Sources[0].Kind, d.Sources[0].Min = rra.DDerive, 0
	case delta, balance:
		d.Sources[0].Kind, d.Sources[0].Heartbeat = rra.Absolute, max(d.Sources[0].Heartbeat, deltaHeartbeat)
	}
	return d
}

var (
	errBusy    = errors.New("series cannot be made now")
	errSources = errors.New("a series has more than one value")
	errAdds    = errors.New("a series that has been sent deltas takes no cumulative values and no levels")
)

// resolve makes the sink find or make the series of the newcomers, and takes their values. The
// error says that the sink has failed.
func (e *export) resolve() error {
	n := &e.news
	if len(n.values) == 0 {
		return nil
	}
	defer n.reset()
	e.mu.Lock()
	wait := e.pause.Lasts(e.now)
	e.mu.Unlock()
	if wait {
		e.Drop(receivers.Overload, uint64(len(n.values)))
		return errBusy
	}
	err := receivers.Resolve(e.ctx, e.sink, n.reqs)
	found := make([]series, len(n.reqs))
	for i := 0; err == nil && i < len(n.reqs); i++ {
		found[i], err = e.found(&n.reqs[i], n.asked[i].mode)
	}
	if err != nil {
		e.mu.Lock()
		e.pause.Begin(e.cfg.Now())
		e.mu.Unlock()
		e.Drop(receivers.FailureReason(err), uint64(len(n.values)))
		if ok, held := e.lines.Allow("resolve", e.now); ok {
			e.cfg.Logger.Error("otlp: series not made", "series", len(n.reqs), "err", err, "held_back_lines", held)
		}
		return err
	}
	e.describe()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.series) >= maxSeries {
		e.empty()
	}
	for i := range found {
		a := n.asked[i]
		if s := e.series[a.key]; s != nil && s.ref != 0 {
			continue // another request has resolved it meanwhile
		}
		e.series[a.key] = &found[i]
		e.settle(&found[i], a, &n.reqs[i])
	}
	e.Series.Store(int64(len(e.series)))
	for i := range n.values {
		v := &n.values[i]
		s := e.series[n.asked[v.request].key]
		if s.ref == 0 {
			e.Drop(s.why, 1)
			e.reject(n.reqs[v.request].Err.Error(), 1)
			continue
		}
		e.add(s, v.reading)
		e.begun(s)
	}
	return nil
}

// found returns the series that a request has led to, with its last value. The error says that the
// sink has failed.
func (e *export) found(q *receivers.Request, m mode) (s series, err error) {
	if q.Err == nil {
		switch ds, ok := receivers.OnlySource(q.Definition); {
		case !ok:
			q.Err = errSources
		case ds.Kind == rra.Absolute && !m.adds():
			q.Err = errAdds
		default:
			s.ref, s.kind, s.def, s.last.Value = q.Ref, ds.Kind, q.Definition, math.NaN()
			s.last.At, s.last.Value, err = e.sink.Last(e.ctx, q.Ref)
			return s, err
		}
	}
	if ok, held := e.lines.Allow("refused", e.now); ok {
		e.cfg.Logger.Warn("otlp: no series for a metric", "series", q.Path, "err", q.Err, "held_back_lines", held)
	}
	why, retry := receivers.Absence(q.Err)
	return series{why: why, retry: e.tick + uint32(retry/time.Second)}, nil
}
