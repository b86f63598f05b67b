package rrdcachedbench

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
)

// update sends the rounds, flushing every 300 s of data.
func (w *work) update() (err error) {
	lines := make([]*connection, w.c.Connections)
	defer func() {
		for _, l := range lines {
			if l != nil {
				err = errors.Join(err, l.Close())
			}
		}
	}()
	for i := range lines {
		if lines[i], err = w.s.dial(); err != nil {
			return err
		}
	}
	var acknowledged, all, driver time.Duration
	before := w.s.processor()
	for done := 0; done < w.c.Rounds; done += flushEvery {
		batches := w.printed(min(flushEvery, w.c.Rounds-done), len(lines))
		began, self := time.Now(), ownProcessor()
		if err := stream(lines, batches); err != nil {
			return err
		}
		acknowledged += time.Since(began)
		driver += ownProcessor() - self
		if err := w.s.flush(w.sent); err != nil {
			return err
		}
		if err := w.s.sync(); err != nil {
			return err
		}
		all += time.Since(began)
	}
	w.m.Updates = w.c.Rounds * len(w.files)
	n := float64(w.m.Updates)
	w.m.Enqueue, w.m.Durable = n/acknowledged.Seconds(), n/all.Seconds()
	w.m.CPUUpdates = (w.s.processor() - before).Seconds() / n * 1e6
	w.m.DriverCPU = driver.Seconds() / n * 1e6
	return nil
}

// printed prints some rounds as BATCHes for each of n connections. Hosts belong to connections.
func (w *work) printed(rounds, n int) [][][]byte {
	out := make([][][]byte, n)
	for range rounds {
		w.round++
		for i := range n {
			files := w.files[len(w.files)*i/n : len(w.files)*(i+1)/n]
			for part := range slices.Chunk(files, batchLines) {
				out[i] = append(out[i], batch(w.addRound(nil, w.round, part)))
			}
		}
	}
	return out
}

// stream sends the BATCHes of each connection until all are answered.
func stream(lines []*connection, batches [][][]byte) error {
	errs := make([]error, len(lines))
	var wg sync.WaitGroup
	for i, l := range lines {
		wg.Go(func() { errs[i] = l.windowed(batches[i], underWay, l.readBatch) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ownProcessor returns the processor time of this process.
func ownProcessor() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// single sends rounds that are flushed one by one.
func (w *work) single() error {
	if w.c.Single == 0 {
		return nil
	}
	before := w.s.processor()
	began := time.Now()
	for range w.c.Single {
		if err := w.batch(); err != nil {
			return err
		}
		if err := w.s.flush(w.sent); err != nil {
			return err
		}
	}
	if err := w.s.sync(); err != nil {
		return err
	}
	n := float64(w.c.Single * len(w.files))
	w.m.Single = n / time.Since(began).Seconds()
	w.m.SingleCPU = (w.s.processor() - before).Seconds() / n * 1e6
	return nil
}

// pipelined sends rounds without BATCH.
func (w *work) pipelined() error {
	if w.c.Single == 0 {
		return nil
	}
	var all time.Duration
	for range w.c.Single {
		updates := w.nextRound()
		began := time.Now()
		if err := w.s.pipelined(updates, len(w.files), func() error { return w.s.want("0 errors, enqueued 1 value(s).") }); err != nil {
			return err
		}
		all += time.Since(began)
	}
	w.m.Pipelined = float64(w.c.Single*len(w.files)) / all.Seconds()
	return w.s.flush(w.sent)
}

// fetch asks for the newest rows of one series, and of many at once.
func (w *work) fetch() error {
	end := epoch + step*w.round - 1
	rows := int64(min(fetchRows, w.c.Rounds))
	w.m.FetchRows = int(rows)
	request := func(i int) string {
		return fmt.Sprintf("FETCH %s AVERAGE %d %d", w.files[i].name, end+1-step*rows, end)
	}
	var one, many []float64
	for i := range 300 {
		began := time.Now()
		if err := w.s.send(request(i * 37 % len(w.files))); err != nil {
			return err
		}
		if n, err := w.s.lines(); err != nil || n < 6+int(rows) {
			return errors.Join(fmt.Errorf("%d lines of rows", n), err)
		}
		one = append(one, float64(time.Since(began).Nanoseconds())/1e3)
	}
	fetch := func() (float64, error) {
		var b []byte
		for i := range w.m.FetchSeries {
			b = append(append(b, request(i*len(w.files)/w.m.FetchSeries)...), '\n')
		}
		began := time.Now()
		err := w.s.pipelined(b, w.m.FetchSeries, func() error {
			_, err := w.s.lines()
			return err
		})
		return float64(time.Since(began).Nanoseconds()) / 1e6, err
	}
	const times = 10
	before := w.s.processor()
	for range times {
		ms, err := fetch()
		if err != nil {
			return err
		}
		many = append(many, ms)
	}
	w.m.FetchCPU = (w.s.processor() - before).Seconds() / times * 1e3
	var pending []float64
	for range 3 { // the usual case: the last value of each series is not written yet
		if err := w.batch(); err != nil {
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
