package otlp

import (
	"bytes"
	"cmp"
	"errors"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/resets"
	"github.com/rondo-db/rondo/rra"
)

// newcomer keeps a value until its series is resolved. e.mu is held.
func (e *export) newcomer(k key, p *part, r reading) {
	i, ok := e.news.Index(k)
	if !ok {
		q, err := e.request(p, r)
		if err != nil {
			e.Drop(receivers.Limit, 1)
			e.reject(err.Error(), 1)
			return
		}
		i = e.news.Ask(k, q)
		e.asked = append(e.asked, asked{k, e.texts})
	}
	e.news.Wait(i, r, 0, e.now)
}

// request returns the request for the series of a value.
func (e *export) request(p *part, r reading) (receivers.Request, error) {
	d := &e.dec
	if e.named != d.fresh {
		e.named, e.sent, e.texts = d.fresh, receivers.Text(d.name), d.texts()
		e.name, e.nameErr = metricName(e.sent, receivers.Text(d.unit), d.typ, d.mode)
	}
	if e.nameErr != nil {
		return receivers.Request{}, e.nameErr
	}
	if e.origin == nil || !bytes.Equal(e.source, d.resource) {
		attrs, err := e.names.attributes(d.resource)
		if err != nil {
			return receivers.Request{}, err
		}
		e.origin, e.source = originOf(attrs), append(e.source[:0], d.resource...)
	}
	attrs, err := e.names.attributes(d.point.attrs)
	if err != nil {
		return receivers.Request{}, err
	}
	q := receivers.Request{
		Identity: e.origin.identify(attrs, e.name, e.sent, p, r.mode == info),
		Sender:   e.from,
		Time:     r.at,
		Define:   e.define[r.mode],
		Fits:     r.mode.fits,
		Learn:    e.step == 0,
	}
	if e.origin.host != "" {
		q.Sender = receivers.LabelText(e.origin.host)
	}
	if job := core.LabelValue(q.Labels, "job"); job != "" { // else it may come from anywhere
		q.Group = "otlp/" + job
	}
	q.Since, _ = e.begins(r)
	q.Begins = func(first rra.Time) (since, zero rra.Time) {
		x := r
		x.at = first
		if x.mode.adds() && x.start > 0 {
			x.start -= r.at - first // deltas follow each other
		}
		return e.begins(x)
	}
	return q, nil
}

// begins returns since when a new series starts, and at what time a reading of 0 is put in, if r is
// its first value; 0: neither. The series does not start before the 0.
func (e *export) begins(r reading) (since, zero rra.Time) {
	if r.mode.adds() {
		since = sinceOf(r)
		d := e.define[r.mode](0)
		return since, begin(&series{def: d}, r)
	}
	if d := r.at - r.start; r.start > 0 && d > 0 && d <= rra.Seconds(2*cmp.Or(e.step, guessedStep)) {
		since = rra.Seconds(r.start.Unix() - 1) // it is known from its beginning on
	}
	if r.mode == counter {
		zero = r.start
	}
	return since, zero
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

var errAdds = errors.New("a series that has been sent deltas takes no cumulative values and no levels")

// fits reports whether a series takes values of a mode.
func (m mode) fits(d *rra.Definition) bool {
	ds, ok := receivers.OnlySource(d)
	return ok && (m.adds() || ds.Kind != rra.Absolute)
}

// forgetNews forgets the newcomers.
func (e *export) forgetNews() {
	e.news.Reset()
	clear(e.asked)
	e.asked = e.asked[:0]
}

// resolve makes the sink find or make the series of the newcomers, and takes their values. The
// error says that the sink has failed.
func (e *export) resolve() error {
	if e.news.Len() == 0 {
		return nil
	}
	defer e.forgetNews()
	reqs := e.news.Requests()
	err := e.news.Resolve(e.ctx, e.asks)
	found := make([]series, len(reqs))
	for i := 0; err == nil && i < len(reqs); i++ {
		if err = e.found(&found[i], &reqs[i]); err != nil {
			err = e.asks.Fail(err, reqs)
		}
	}
	if err == nil {
		e.describe()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.series) >= maxSeries {
		e.empty()
	}
	for i := 0; err == nil && i < len(found); i++ {
		a := e.asked[i]
		if s := e.series[a.key]; s != nil && s.Ref != 0 { // it was known, or another request has found it
			if x := &found[i]; x.Ref != 0 && x.last.At > s.last.At {
				s.last = x.last // another node has stored more
			}
			continue
		}
		e.series[a.key] = &found[i]
	}
	e.Series.Store(int64(len(e.series)))
	e.news.Replay(&e.Counters, func(r *reading, i int, q *receivers.Request) {
		if q.Err != nil {
			e.reject(q.Err.Error(), 1)
			return
		}
		e.add(e.series[e.asked[i].key], *r)
	})
	return err
}

// found sets s to the series that a request has led to, with its last value. The error says that
// the sink has failed.
func (e *export) found(s *series, q *receivers.Request) (err error) {
	s.Series, s.def = q.Series(e.tick), q.Definition
	if q.Made {
		s.last = resets.Counter{At: q.Starts(q.Definition), Value: math.NaN()}
	} else if s.Ref != 0 {
		s.last.At, s.last.Value, err = e.sink.Last(e.ctx, s.Ref)
	} else if errors.Is(q.Err, receivers.ErrSources) {
		if _, ok := receivers.OnlySource(q.Definition); ok {
			q.Err = errAdds
		}
	}
	return err
}
