package statsd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// store hands over the samples of a flush, in parts.
func (s *server) store(ctx context.Context, samples []sample) {
	if gen := s.queue.Generation(); gen != s.generation {
		s.generation = gen
		for _, x := range samples {
			x.m.ref, x.m.retry = 0, 0
		}
	}
	for part := range slices.Chunk(samples, receivers.MaxNewcomers) {
		s.resolve(ctx, part)
		s.queue.Do(func(q *receivers.Queue) {
			for i := range part {
				s.storeOne(q, &part[i])
			}
		})
	}
}

func (s *server) storeOne(q *receivers.Queue, x *sample) {
	m := x.m
	if m.ref == 0 {
		s.Drop(m.why, 1)
		return
	}
	values := x.values
	if m.typ == Timer {
		s.row = s.row[:0]
		for _, k := range m.columns {
			v := rra.Unknown
			if k >= 0 {
				v = values[k]
			}
			s.row = append(s.row, v)
		}
		values = s.row
	}
	q.Add(m.ref, rra.Seconds(x.at), values)
}

// resolve asks the sink for the series that samples lack.
func (s *server) resolve(ctx context.Context, part []sample) {
	now := s.cfg.Now()
	var metrics []*metric
	var reqs []receivers.Request
	for _, x := range part {
		m := x.m
		if m.ref != 0 || m.asked || now.Unix() < m.retry {
			continue
		}
		m.asked, m.why = true, receivers.Overload
		metrics = append(metrics, m)
		reqs = append(reqs, s.request(x))
	}
	if len(reqs) == 0 {
		return
	}
	var err error
	if s.pause.Lasts(now) {
		for _, m := range metrics {
			m.asked = false
		}
		return
	}
	if err = receivers.Resolve(ctx, s.sink, reqs); err != nil {
		s.pause.Begin(s.cfg.Now())
		if ok, held := s.logs.Allow("resolve", now); ok {
			s.cfg.Logger.Error("statsd: series not made", "series", len(reqs), "err", err, "held_back_lines", held)
		}
	}
	for i, m := range metrics {
		m.asked = false
		if err != nil {
			m.why = receivers.FailureReason(err)
			continue
		}
		s.resolved(m, &reqs[i], now)
	}
}

// request returns the request for the series of a sample.
func (s *server) request(x sample) receivers.Request {
	return receivers.Request{
		Identity: x.m.id,
		Sender:   x.m.sender,
		Time:     rra.Seconds(x.at),
		Define: func(step int64) *rra.Definition {
			if step == 0 {
				step = s.set.step
			}
			return define(x.m.typ, s.set.stats, step, s.set.step)
		},
	}
}

var errSources = errors.New("the data sources of the series are others")

// resolved writes the outcome of a request into a metric.
func (s *server) resolved(m *metric, r *receivers.Request, now time.Time) {
	err := r.Err
	if err == nil && !m.fit(r.Definition, s.set.stats) {
		err = errSources
	}
	if err == nil {
		m.ref = r.Ref
		return
	}
	why, retry := receivers.Absence(err)
	m.why, m.retry = why, now.Add(retry).Unix()
	if ok, held := s.logs.Allow("refused", now); ok {
		s.cfg.Logger.Warn("statsd: samples are dropped", "series", m.id.Path, "err", err, "held_back_lines", held)
	}
}
