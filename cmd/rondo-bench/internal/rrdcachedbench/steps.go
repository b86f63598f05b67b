package rrdcachedbench

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// update sends the rounds, flushing every 300 s of data.
func (w *work) update() error {
	before := w.s.processor()
	var enqueue, all time.Duration
	for i := range w.c.Rounds {
		d, err := w.batch()
		if err != nil {
			return err
		}
		enqueue += d
		all += d
		if (i+1)%flushEvery == 0 || i == w.c.Rounds-1 {
			began := time.Now()
			if err := w.s.flush(w.sent); err != nil {
				return err
			}
			if err := w.s.sync(); err != nil {
				return err
			}
			all += time.Since(began)
		}
	}
	w.m.Updates = w.c.Rounds * len(w.names)
	n := float64(w.m.Updates)
	w.m.Enqueue, w.m.Durable = n/enqueue.Seconds(), n/all.Seconds()
	w.m.CPUUpdates = (w.s.processor() - before).Seconds() / n * 1e6
	return nil
}

// single sends rounds that are flushed one by one.
func (w *work) single() error {
	before := w.s.processor()
	began := time.Now()
	for range w.c.Single {
		if _, err := w.batch(); err != nil {
			return err
		}
		if err := w.s.flush(w.sent); err != nil {
			return err
		}
	}
	if err := w.s.sync(); err != nil {
		return err
	}
	n := float64(w.c.Single * len(w.names))
	w.m.Single = n / time.Since(began).Seconds()
	w.m.SingleCPU = (w.s.processor() - before).Seconds() / n * 1e6
	return nil
}

// pipelined sends rounds without BATCH.
func (w *work) pipelined() error {
	var all time.Duration
	for range w.c.Single {
		w.addRound()
		began := time.Now()
		if err := w.s.pipelined(w.requests(), len(w.names), func() error { return w.want("0 errors, enqueued 1 value(s).") }); err != nil {
			return err
		}
		all += time.Since(began)
	}
	w.m.Pipelined = float64(w.c.Single*len(w.names)) / all.Seconds()
	return w.s.flush(w.sent)
}

// fetch asks for ten minutes of one series, and of many at once.
func (w *work) fetch() error {
	end := epoch + step*w.round - 1
	request := func(i int) string {
		return fmt.Sprintf("FETCH %s AVERAGE %d %d", w.names[i], end+1-step*fetchRows, end)
	}
	var one, many []float64
	for i := range 300 {
		began := time.Now()
		if err := w.s.send(request(i * 37 % len(w.names))); err != nil {
			return err
		}
		if n, err := w.s.lines(); err != nil || n != 6+fetchRows {
			return errors.Join(fmt.Errorf("%d lines of rows", n), err)
		}
		one = append(one, float64(time.Since(began).Nanoseconds())/1e3)
	}
	fetch := func() (float64, error) {
		for i := range w.m.FetchSeries {
			w.buf.WriteString(request(i*len(w.names)/w.m.FetchSeries) + "\n")
		}
		began := time.Now()
		err := w.s.pipelined(w.requests(), w.m.FetchSeries, func() error {
			_, err := w.s.lines()
			return err
		})
		return float64(time.Since(began).Nanoseconds()) / 1e6, err
	}
	for range 10 {
		ms, err := fetch()
		if err != nil {
			return err
		}
		many = append(many, ms)
	}
	var pending []float64
	for range 3 { // the usual case: the last value of each series is not written yet
		if _, err := w.batch(); err != nil {
			return err
		}
		ms, err := fetch()
		if err != nil {
			return err
		}
		pending = append(pending, ms)
	}
	w.m.Fetch, w.m.FetchMany, w.m.FetchPending = median(one), median(many), median(pending)
	return w.s.flush(w.sent)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
