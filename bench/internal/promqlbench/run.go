package promqlbench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rondo-db/rondo/bench/internal/writebench"
)

// A Config says what is measured.
type Config struct {
	Series   int           // gauges, and as many counters
	Length   time.Duration // how long each program is asked each query, altogether
	Turns    int           // in which the programs are asked a query
	Dir      string        // each program works in a folder below it
	Programs []writebench.Program
	Say      func(string)
}

// A Result is what one query took from one program.
type Result struct {
	Query   string  `json:"query"`
	Program string  `json:"program"`
	Found   int     `json:"found"` // series or values of the answer
	Runs    int     `json:"runs"`
	Median  float64 `json:"median_milliseconds"`
	P99     float64 `json:"p99_milliseconds"`
	CPU     float64 `json:"cpu_milliseconds"` // of the program, for one run

	times []time.Duration
	used  time.Duration
}

// Run starts all programs, gives them the same samples, and asks one query after the other, each
// program in turn. It fails where the programs find different numbers of series. Results are in
// order of the queries, and of the programs.
func Run(ctx context.Context, c Config) ([]Result, error) {
	end := (time.Now().Unix() - 60) / step * step
	var servers []*writebench.Server
	for _, p := range c.Programs {
		dir := filepath.Join(c.Dir, p.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		s, err := writebench.Start(ctx, p, dir, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		defer s.Stop()
		c.Say(p.Name + " is given the samples")
		if err := feed(ctx, s, c.Series, end); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		servers = append(servers, s)
	}
	var all []Result
	for _, q := range queries(c.Series, end) {
		c.Say("query: " + q.name)
		rs, err := c.measure(ctx, q, servers)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		all = append(all, rs...)
	}
	return all, nil
}

// measure asks one query.
func (c *Config) measure(ctx context.Context, q query, servers []*writebench.Server) ([]Result, error) {
	rs := make([]Result, len(servers))
	for i, s := range servers { // the first answers are not measured
		r := &rs[i]
		r.Query, r.Program = q.name, c.Programs[i].Name
		body, err := ask(ctx, s, &q, 0)
		if err == nil {
			r.Found, err = count(body)
		}
		if err == nil && r.Found != rs[0].Found {
			err = fmt.Errorf("it finds %d series or values, %s finds %d", r.Found, rs[0].Program, rs[0].Found)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Program, err)
		}
	}
	for range c.Turns {
		for i, s := range servers {
			if err := rs[i].turn(ctx, s, &q, c.Length/time.Duration(c.Turns)); err != nil {
				return nil, fmt.Errorf("%s: %w", rs[i].Program, err)
			}
		}
	}
	for i := range rs {
		r := &rs[i]
		r.Runs = len(r.times)
		slices.Sort(r.times)
		r.Median, r.P99 = writebench.Percentile(r.times, 50), writebench.Percentile(r.times, 99)
		r.CPU = r.used.Seconds() * 1e3 / float64(r.Runs)
	}
	return rs, nil
}

// turn asks s for as long as length, but at least once.
func (r *Result) turn(ctx context.Context, s *writebench.Server, q *query, length time.Duration) error {
	before, err := s.CPU()
	if err != nil {
		return err
	}
	for began := time.Now(); ; {
		one := time.Now()
		if _, err := ask(ctx, s, q, len(r.times)); err != nil {
			return err
		}
		r.times = append(r.times, time.Since(one))
		if time.Since(began) >= length {
			break
		}
	}
	after, err := s.CPU()
	r.used += after - before
	return err
}

// ask asks q once and returns the answer.
func ask(ctx context.Context, s *writebench.Server, q *query, run int) ([]byte, error) {
	u := s.URL + "/api/v1/" + q.path + "?" + q.form(run).Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := s.Client.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it has been read
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s: %.300s", res.Status, body)
	}
	return body, err
}

// count returns how many series or values an answer has.
func count(body []byte) (int, error) {
	var list struct{ Data []json.RawMessage }
	if json.Unmarshal(body, &list) == nil {
		return len(list.Data), nil
	}
	var result struct {
		Data struct{ Result []json.RawMessage }
	}
	err := json.Unmarshal(body, &result)
	return len(result.Data.Result), err
}
