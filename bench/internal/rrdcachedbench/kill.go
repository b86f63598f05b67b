package rrdcachedbench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Samples that a server has acknowledged must survive a kill. The test sends BATCHes, one after the
// other, and kills the server at a random moment. It starts the server again and reads every row
// that was acknowledged.

const (
	killSeries  = 50                   // series with a value in each BATCH
	killBatches = 100                  // most BATCHes that are acknowledged before the kill
	killDelay   = 3 * time.Millisecond // longest delay of the kill after that
)

// kills kills a server again and again. It uses files of its own.
func kills(ctx context.Context, c *Config, s *side, m *Measured) error {
	var files []file
	for i := range killSeries {
		files = append(files, file{name: fmt.Sprintf("kill/metric-%02d.rrd", i), sources: []source{{kind: "GAUGE"}}})
	}
	w := newWork(c, s, &Measured{}, files) // the time of creating the series does not count
	if err := s.up(ctx); err != nil {
		return err
	}
	err := w.create()
	if err == nil {
		err = s.down()
	}
	if err != nil {
		return errors.Join(err, s.kill())
	}
	r := rand.New(rand.NewPCG(c.Seed, 0))
	for range c.Kills {
		first := w.round
		if err := s.up(ctx); err != nil {
			return err
		}
		if err := w.killed(1+r.IntN(killBatches), time.Duration(r.Int64N(int64(killDelay)))); err != nil {
			return err
		}
		acknowledged := w.round
		if err := s.up(ctx); err != nil {
			return err
		}
		lost, last, err := w.lost(first, acknowledged)
		if err := errors.Join(err, s.kill()); err != nil {
			return err
		}
		m.Kills++
		m.Acknowledged += int(acknowledged-first) * killSeries
		if m.Lost += lost; lost > 0 {
			m.LossyKills++
		}
		w.round = last // rounds that were not acknowledged may be stored, too
	}
	return nil
}

// killed sends BATCHes until the server is gone. It kills the server a delay after n of them are
// acknowledged. w.round is then the last acknowledged round.
func (w *work) killed(n int, delay time.Duration) error {
	var acknowledged atomic.Int64
	enough := make(chan struct{})
	dead := make(chan error, 1)
	go func() {
		<-enough
		time.Sleep(delay) // more BATCHes are in flight then
		dead <- w.s.cmd.Process.Kill()
	}()
	var err error
	for err == nil {
		if err = w.s.send(w.killBatch(w.round + 1)); err != nil {
			break
		}
		for _, want := range []string{"0 Go ahead.  End with dot '.' on its own line.", "0 errors"} {
			if err = w.s.want(want); err != nil {
				break
			}
		}
		if err == nil {
			w.round++
			if acknowledged.Add(1) == int64(n) {
				close(enough)
			}
		}
	}
	if acknowledged.Load() < int64(n) {
		close(enough)
		return errors.Join(fmt.Errorf("it ended by itself: %w", err), <-dead, w.s.kill())
	}
	if err := <-dead; err != nil {
		return err
	}
	_ = w.s.Close()    // the server has closed it
	_ = w.s.cmd.Wait() // it was killed
	return nil
}

// killBatch returns the BATCH of a round. All its values are the number of the round.
func (w *work) killBatch(round int64) string {
	b := []byte("BATCH\n")
	for i := range w.files {
		b = fmt.Appendf(b, "UPDATE %s %d:%d\n", w.files[i].name, epoch+step*round, round)
	}
	return string(append(b, '.'))
}

// lost returns how many values of the rounds first+1 to acknowledged the server lacks, and the last
// round that it has for any series.
func (w *work) lost(first, acknowledged int64) (lost int, last int64, err error) {
	last = acknowledged
	for i := range w.files {
		if err := w.s.send(fmt.Sprintf("FETCH %s AVERAGE %d %d", w.files[i].name, epoch+step*first, epoch+step*(acknowledged+1))); err != nil {
			return 0, 0, err
		}
		answer, err := w.s.whole()
		if err != nil {
			return 0, 0, err
		}
		rows := make(map[int64]float64)
		for _, line := range answer {
			at, value, _ := strings.Cut(line, ": ")
			t, notTime := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
			v, notValue := strconv.ParseFloat(value, 64)
			if notTime == nil && notValue == nil && v == v {
				round := (t - epoch) / step
				rows[round] = v
				last = max(last, round)
			}
		}
		for round := first + 1; round <= acknowledged; round++ {
			if rows[round] != float64(round) {
				lost++
			}
		}
	}
	return lost, last, nil
}
