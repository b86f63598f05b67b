package rrdcachedbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Config says what is measured.
type Config struct {
	Series int    // of one data source and five archives
	Rounds int    // a value of each, 10 s after the one before; flushed every 30
	Single int    // rounds that are flushed one by one
	Kills  int    // how often a server is killed
	Seed   uint64 // of the moments at which it is
	// Dir is a new or empty folder for both servers' files.
	Dir string
	// RRDCached is the program, empty: it is not measured.
	RRDCached string
	// Rondo starts rondo's server over a database at a socket, names being cut off at base.
	Rondo func(ctx context.Context, db, socket, base string) *exec.Cmd
	// Say is told what is being done; nil: nobody is.
	Say func(string)
}

// Measured is what one server did.
type Measured struct {
	Name         string  `json:"name"`
	Updates      int     `json:"updates"`
	Create       float64 `json:"creates_a_second"`
	Enqueue      float64 `json:"updates_a_second_acknowledged"`
	Durable      float64 `json:"updates_a_second_durable"` // flushed and synced
	CPU          float64 `json:"cpu_seconds_a_million"`    // the end of the server included
	CPUUpdates   float64 `json:"cpu_seconds_a_million_until_written"`
	Single       float64 `json:"updates_a_second_one_value_a_flush"`
	SingleCPU    float64 `json:"cpu_seconds_a_million_one_value_a_flush"`
	Pipelined    float64 `json:"updates_a_second_pipelined"` // without BATCH, every one answered
	Fetch        float64 `json:"fetch_one_us"`               // median
	FetchMany    float64 `json:"fetch_many_ms"`              // median
	FetchPending float64 `json:"fetch_many_with_a_value_pending_ms"`
	FetchSeries  int     `json:"fetch_many_series"`
	Acknowledged int     `json:"acknowledged_before_kills"`
	Lost         int     `json:"lost"`
	Kills        int     `json:"kills"`
	LossyKills   int     `json:"kills_that_lost"`
}

// epoch is when the series begin.
const epoch = 1_700_000_000

const (
	step       = 10
	flushEvery = 30 // rounds: 300 s of data
	fetchMany  = 1000
	fetchRows  = 60
)

// Run measures rondo, and rrdcached if it is given.
func Run(ctx context.Context, c Config) ([]Measured, error) {
	if c.Say == nil {
		c.Say = func(string) {}
	}
	if c.Series < 1 || c.Rounds < 1 || c.Single < 1 || c.Kills < 0 {
		return nil, errors.New("bench: series, rounds and single must be at least 1, and kills not negative")
	}
	var out []Measured
	for _, p := range c.programs() {
		m := Measured{Name: p.name, FetchSeries: min(fetchMany, c.Series)}
		if err := measure(ctx, &c, p.side(c.Dir, "", true), &m); err != nil {
			return out, fmt.Errorf("%s: %w", p.name, err)
		}
		c.Say(p.name + ": kill -9")
		if err := kills(ctx, &c, p.side(c.Dir, "k", false), &m); err != nil {
			return out, fmt.Errorf("%s: kill -9: %w", p.name, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// A program is one of the two.
type program struct {
	name, short string
	caches      bool
	start       func(ctx context.Context, s *side, flush bool) *exec.Cmd
}

func (c *Config) programs() []program {
	ps := []program{{"rondo", "r", false, func(ctx context.Context, s *side, _ bool) *exec.Cmd {
		return c.Rondo(ctx, filepath.Join(s.dir, "db"), s.socket(), s.base())
	}}}
	if c.RRDCached == "" {
		return ps
	}
	return append(ps, program{"rrdcached", "o", true, func(ctx context.Context, s *side, flush bool) *exec.Cmd {
		args := []string{
			"-g", "-l", "unix:" + s.socket(), "-b", s.base(), "-B", "-R", "-w", "1800", "-f", "3600",
			"-j", filepath.Join(s.dir, "journal"), "-p", filepath.Join(s.dir, "pid"),
		}
		if flush {
			args = append(args, "-F")
		}
		return exec.CommandContext(ctx, c.RRDCached, args...)
	}})
}

// side returns a server of the program below dir. With flush rrdcached writes everything when it
// ends.
func (p program) side(dir, kind string, flush bool) *side {
	return &side{name: p.name, dir: filepath.Join(dir, p.short+kind), caches: p.caches, start: func(ctx context.Context, s *side) *exec.Cmd {
		return p.start(ctx, s, flush)
	}}
}

func measure(ctx context.Context, c *Config, s *side, m *Measured) (err error) {
	if err := s.up(ctx); err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			err = errors.Join(err, s.kill())
		}
	}()
	w := &work{c: c, s: s, m: m}
	for i := range c.Series {
		w.names = append(w.names, fmt.Sprintf("host%03d/metric-%02d/gauge.rrd", i/100, i%100))
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"create", w.create},
		{"update", w.update},
		{"fetch", w.fetch},
		{"one value a flush", w.single},
		{"pipelined updates", w.pipelined},
	} {
		c.Say(s.name + ": " + step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		s.quiet() // what it still does is not of the next
	}
	before := s.processor()
	if err := s.down(); err != nil {
		return err
	}
	ended = true
	// What the end of a server writes belongs to all its updates: a share of it to those measured.
	share := (s.total() - before).Seconds() / float64(w.sent)
	m.CPU = m.CPUUpdates + share*1e6
	return nil
}

// A work is what is done to one server.
type work struct {
	c     *Config
	s     *side
	m     *Measured
	names []string
	round int64 // the last that was sent
	sent  int64 // updates
	buf   strings.Builder
}

// create makes the series.
func (w *work) create() error {
	for _, name := range w.names {
		fmt.Fprintf(&w.buf, "CREATE %s -s %d -b %d DS:value:GAUGE:600:U:U RRA:AVERAGE:0.5:1:1440 RRA:AVERAGE:0.5:6:1440 "+
			"RRA:AVERAGE:0.5:60:1008 RRA:MAX:0.5:6:1440 RRA:MAX:0.5:60:1008\n", name, step, epoch)
	}
	began := time.Now()
	err := w.s.pipelined(w.take(), len(w.names), func() error { return w.want("0 RRD created OK") })
	w.m.Create = float64(len(w.names)) / time.Since(began).Seconds()
	return err
}

func (w *work) take() string {
	text := w.buf.String()
	w.buf.Reset()
	return text
}

func (w *work) want(want string) error {
	got, err := w.s.line()
	if err == nil && got != want {
		err = fmt.Errorf("got %q, want %q", got, want)
	}
	return err
}

// addRound writes one value of each series: a quarter counts, the rest has two decimals.
func (w *work) addRound() {
	w.round++
	for i, name := range w.names {
		at := epoch + step*w.round
		if i%4 == 0 {
			fmt.Fprintf(&w.buf, "UPDATE %s %d:%d\n", name, at, w.round*int64(i%997+1))
			continue
		}
		cents := (int64(i)*7919 + w.round*w.round*31) % 90000
		fmt.Fprintf(&w.buf, "UPDATE %s %d:%d.%02d\n", name, at, cents/100, cents%100)
	}
	w.sent += int64(len(w.names))
}

// batch sends one round in a BATCH and waits for the answer.
func (w *work) batch() (time.Duration, error) {
	w.buf.WriteString("BATCH\n")
	w.addRound()
	w.buf.WriteString(".\n")
	began := time.Now()
	n := 0
	err := w.s.pipelined(w.take(), 2, func() error {
		if n++; n == 1 {
			_, err := w.s.line()
			return err
		}
		return w.want("0 errors")
	})
	return time.Since(began), err
}

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

// sync has the system write what rrdcached has given to it. rondo has had that done.
func (s *side) sync() error {
	if !s.caches {
		return nil
	}
	return exec.Command("sync", "-f", s.base()).Run()
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
		if err := w.s.pipelined(w.take(), len(w.names), func() error { return w.want("0 errors, enqueued 1 value(s).") }); err != nil {
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
		err := w.s.pipelined(w.take(), w.m.FetchSeries, func() error {
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
	for range 3 { // as it is on any day: the last value of each is not written yet
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

// Find returns the installed rrdcached.
func Find() (string, error) {
	for _, name := range []string{"rrdcached", "/usr/sbin/rrdcached", "/usr/bin/rrdcached"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("rrdcached: %w", os.ErrNotExist)
}
