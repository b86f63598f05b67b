package writebench

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// A Config says what is measured.
type Config struct {
	Series, Samples int // altogether, and in a request
	Connections     int // each sends one request after the other
	Length          time.Duration
	Dir             string // the programs work in folders below it
	// Programs start the programs to measure. addr is where they are to listen, dir an existing
	// folder.
	Programs []Program
	Say      func(string)
}

// A Program is a program to measure.
type Program struct {
	Name  string
	Start func(ctx context.Context, addr, dir string) (*exec.Cmd, error)
}

// A Result is what one program did.
type Result struct {
	Name        string  `json:"name"`
	FirstRound  float64 `json:"first_round_seconds"`          // which makes all series
	FirstCPU    float64 `json:"first_round_cpu_microseconds"` // of the program, a series
	Samples     int64   `json:"samples"`                      // of the other rounds
	Seconds     float64 `json:"seconds"`
	Rate        float64 `json:"samples_per_second"`
	CPU         float64 `json:"cpu_seconds_per_million"` // of the program, not of what sends
	Median      float64 `json:"median_milliseconds"`     // of a request
	P99         float64 `json:"p99_milliseconds"`
	Again       int64   `json:"sent_again"` // requests that the program asked to send again
	DriverCPU   float64 `json:"driver_cpu_seconds_per_million"`
	Connections int     `json:"connections"`
}

// Run measures the programs one after the other.
func Run(ctx context.Context, c Config) ([]Result, error) {
	var rs []Result
	for _, p := range c.Programs {
		c.Say(p.Name)
		r, err := c.measure(ctx, p)
		if err != nil {
			return rs, fmt.Errorf("%s: %w", p.Name, err)
		}
		rs = append(rs, r)
	}
	return rs, nil
}

func (c *Config) measure(ctx context.Context, p Program) (r Result, err error) {
	s, err := Start(ctx, p, c.Dir, c.Connections)
	if err != nil {
		return r, err
	}
	defer s.Stop()
	return s.rounds(ctx, c, p.Name)
}

// rounds sends one round that makes the series, and then rounds until the time is over.
func (s *Server) rounds(ctx context.Context, c *Config, name string) (r Result, err error) {
	start := time.Now().Add(-24 * time.Hour).UnixMilli()
	requests := newRequests(c.Series, c.Samples, start)
	before, err := s.CPU()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if _, _, err := s.send(ctx, c, requests, start, 0, func() bool { return true }); err != nil {
		return r, err
	}
	r.FirstRound = time.Since(began).Seconds()
	cpu, err := s.CPU()
	if err != nil {
		return r, err
	}
	r.FirstCPU = (cpu - before).Seconds() * 1e6 / float64(c.Series)
	own := ownTimes()
	began = time.Now()
	times, samples, err := s.send(ctx, c, requests, start, 1, func() bool { return time.Since(began) > c.Length })
	if err != nil {
		return r, err
	}
	r.Seconds = time.Since(began).Seconds()
	cpu2, err := s.CPU()
	if err != nil {
		return r, err
	}
	million := float64(samples) / 1e6
	r.Name, r.Samples, r.Connections, r.Again = name, samples, c.Connections, s.again.Load()
	r.Rate = float64(samples) / r.Seconds
	r.CPU = (cpu2 - cpu).Seconds() / million
	r.DriverCPU = (ownTimes() - own).Seconds() / million
	slices.Sort(times)
	r.Median, r.P99 = Percentile(times, 50), Percentile(times, 99)
	return r, nil
}

// Percentile returns a percentile of times in order, in milliseconds.
func Percentile(sorted []time.Duration, p int) float64 {
	return sorted[min(len(sorted)*p/100, len(sorted)-1)].Seconds() * 1e3
}

// send sends rounds from the first one on over all connections, until over returns true at the end
// of a round. Each connection has its own requests, as Prometheus' shards have. It returns how
// long each request took.
func (s *Server) send(ctx context.Context, c *Config, requests []*request, start int64, first int, over func() bool) (times []time.Duration, samples int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards times and samples
	for n := range c.Connections {
		wg.Go(func() {
			var own []time.Duration
			sent := int64(0)
			for round := first; ; round++ {
				for i := n; i < len(requests); i += c.Connections {
					took, err := s.Write(ctx, requests[i].body(round, start))
					if err != nil {
						cancel(err)
						return
					}
					own = append(own, took)
					sent += int64(len(requests[i].ends))
				}
				if over() || n >= len(requests) {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			times, samples = append(times, own...), samples+sent
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, 0, err
	}
	return times, samples, nil
}
