package otlp

import (
	"errors"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// batchSamples is how many samples of a request are stored together.
const batchSamples = 16384

func newExport(t *intake, under *receivers.Requests) *export {
	e := &export{intake: t, Requests: under, names: make(nameTable)}
	e.dec = decoder{take: e.value, skip: e.skip, warn: e.explain}
	return e
}

var errFailed = errors.New("the sink has failed")

// value takes one value: see decoder.take. An error means that e.failed is set.
func (e *export) value(p *part, m mode, v float64) error {
	d := &e.dec
	if m != info {
		e.points++
	}
	if d.point.at < rra.Seconds(2) || d.point.at > e.last {
		e.Drop(receivers.State, 1)
		e.reject("the time is before 1970 or too far ahead", 1)
		return nil
	}
	if m != info {
		d.newest = max(d.newest, d.point.at)
	}
	if d.point.unknown {
		v = math.NaN()
	}
	if e.hashed != d.fresh {
		e.key = d.appendMetric(e.key[:0])
		e.hashed, e.metric = d.fresh, e.keyOf(e.key)
	}
	e.key = d.appendKey(e.key[:0], e.metric, p)
	e.find(e.keyOf(e.key), p, reading{mode: m, at: d.point.at, start: d.point.start, value: v})
	if e.batch.Len() >= batchSamples || e.news.Full() {
		e.flush()
	}
	if e.failed != nil {
		return errFailed
	}
	return nil
}

// find finds the series of a value, or makes a newcomer of the value.
func (e *export) find(k key, p *part, r reading) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.series[k]
	_, waits := e.news.Index(k)
	switch {
	case s != nil && s.Ref != 0 && (waits || apart(s, r) || begun(s, r)):
		e.newcomer(k, p, r) // another node may have stored more: the sink is asked
	case s != nil && s.Ref != 0:
		e.add(s, r)
	case s == nil || s.Due(e.tick):
		e.newcomer(k, p, r)
	default:
		e.Drop(s.Why, 1)
		e.reject("series were refused", 1)
	}
}

// flush resolves the newcomers, and stores the batch.
func (e *export) flush() {
	if e.failed = e.resolve(); e.failed != nil {
		if e.batch.Len() > 0 { // what was handed over is not stored
			e.forget(e.now, true)
		}
		return
	}
	n := e.batch.Len()
	if n == 0 {
		return
	}
	known := e.Requests.Generation()
	err := e.store(n)
	e.batch.Reset()
	e.zeros = e.zeros[:0]
	if e.Requests.Generation() != known {
		e.forget(e.now, false)
	}
	var rejected *core.RejectedError
	switch {
	case err == nil:
	case errors.As(err, &rejected):
		if rejected.Late > 0 {
			e.reject(textLate, int64(rejected.Late))
		}
		if rejected.Other > 0 {
			e.reject("values do not fit their series", int64(rejected.Other))
		}
	default:
		e.failed = err
		e.forget(e.now, true)
	}
}
