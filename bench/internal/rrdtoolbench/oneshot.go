package rrdtoolbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A OneShotConfig says which commands are measured, each run in a process of its own.
type OneShotConfig struct {
	Programs
	Series []int // numbers of series; each is a database
	Runs   int   // runs of each command
}

// A OneShotCase is the result of one program for one command.
type OneShotCase struct {
	Series  int     `json:"series"` // series in the database; 0: rrdtool, which has one file
	Name    string  `json:"name"`
	Command string  `json:"command"`
	Median  float64 `json:"median_ms"` // from start to end of the process
	High    float64 `json:"p99_ms"`
	CPU     float64 `json:"cpu_ms"` // mean processor time of the process, without a server's
}

// oneShots are the commands, without the name of the series.
var oneShots = []string{"update", "info", "fetch"}

// OneShot measures whole processes, in this order: rrdtool, if it is given; rondo without a server,
// with the database as a server has left it; the same with the fullest log that a command may leave
// behind; rondo with a server.
func OneShot(ctx context.Context, c OneShotConfig) ([]OneShotCase, error) {
	if c.Runs < 1 || len(c.Series) == 0 || slices.Min(c.Series) < 1 {
		return nil, errors.New("bench: series and runs must be at least 1")
	}
	var out []OneShotCase
	if c.RRDTool != "" {
		c.say("one command a process: rrdtool")
		dir := filepath.Join(c.Dir, "rrdtool")
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(seriesName(0))), 0o700); err != nil {
			return nil, err
		}
		if err := command(ctx, dir, append([]string{c.RRDTool}, strings.Fields(create(seriesName(0)))...)).Run(); err != nil {
			return nil, fmt.Errorf("rrdtool create: %w", err)
		}
		o := oneShot{ctx: ctx, runs: c.Runs, dir: dir, program: c.RRDTool, series: 1}
		ms, err := o.measure("rrdtool")
		if err != nil {
			return nil, err
		}
		for i := range ms {
			ms[i].Series = 0
		}
		out = append(out, ms...)
	}
	for _, n := range c.Series {
		ms, err := c.database(ctx, n)
		out = append(out, ms...)
		if err != nil {
			return out, fmt.Errorf("%d series: %w", n, err)
		}
	}
	return out, nil
}

// database measures commands over a database of n series.
func (c *OneShotConfig) database(ctx context.Context, n int) (out []OneShotCase, err error) {
	dir := filepath.Join(c.Dir, strconv.Itoa(n))
	if err := makeDatabase(ctx, filepath.Join(dir, "rondo.db"), n); err != nil {
		return nil, err
	}
	o := oneShot{ctx: ctx, runs: c.Runs, dir: dir, program: c.Rondo, series: n}
	for _, step := range []struct {
		name   string
		before func() error
	}{
		{"rondo", nil},
		{"rondo, the log full", func() error { return o.fill(dir) }},
		{"rondo, with a server", nil},
	} {
		c.say("one command a process, %d series: %s", n, step.name)
		if step.before != nil {
			if err := step.before(); err != nil {
				return out, err
			}
		}
		if strings.HasSuffix(step.name, "server") {
			server, err := startServer(ctx, dir, serveCommand(c.Rondo, "always"))
			if err != nil {
				return out, err
			}
			defer func() { err = errors.Join(err, server.end()) }()
		}
		ms, err := o.measure(step.name)
		out = append(out, ms...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// makeDatabase makes a database of n series with a few rows each.
func makeDatabase(ctx context.Context, dir string, n int) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	s, err := core.Open(dir, core.Options{Sync: wal.SyncNone})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var words []string
	for word := range strings.FieldsSeq(create("")) {
		if strings.HasPrefix(word, "DS:") || strings.HasPrefix(word, "RRA:") {
			words = append(words, word)
		}
	}
	d, err := rra.ParseDefinition(step, words)
	if err != nil {
		return err
	}
	var refs []core.Ref
	for len(refs) < n {
		var specs []core.Spec
		for i := len(refs); i < min(n, len(refs)+1000); i++ {
			specs = append(specs, core.Spec{Path: seriesName(i), Definition: d, Start: rra.Seconds(epoch)})
		}
		made, err := s.CreateBatch(ctx, specs)
		if err != nil {
			return err
		}
		for _, m := range made {
			if m.Err != nil {
				return m.Err
			}
			refs = append(refs, m.Ref)
		}
	}
	var b core.Batch
	for round := range firstRounds {
		b.Reset()
		for i, ref := range refs {
			b.Add(ref, rra.Seconds(epoch+step*int64(round+1)), rra.Float(float64(i%977)+float64(round)/4))
		}
		if err := s.Append(ctx, &b); err != nil {
			return err
		}
	}
	return s.Checkpoint(ctx)
}

// firstRounds is how many values a series has at the beginning.
const firstRounds = 90

// fullLog is how many updates leave nearly the longest log that a command leaves without a
// checkpoint.
const fullLog = 6000

// fill updates series from everywhere in the database, one after the other, in a process that then
// ends.
func (o *oneShot) fill(dir string) error {
	p, err := start(o.ctx, dir, []string{o.program, "--sync", "none", "rrdtool", "-"})
	if err != nil {
		return err
	}
	for i := range fullLog {
		// One update at a time: a batch would be a single record, which is replayed faster.
		line := fmt.Sprintf("update %s %d:1\n", seriesName(i*7919%o.series), o.next())
		if _, err = p.in.Write([]byte(line)); err == nil {
			err = p.answers(1)
		}
		if err != nil {
			return errors.Join(err, p.end())
		}
	}
	return p.end()
}

// A oneShot runs commands over one database.
type oneShot struct {
	ctx     context.Context
	runs    int
	dir     string
	program string
	series  int
	seconds int64 // time of the last update, in seconds after the first rounds
}

// next returns a time after all updates so far.
func (o *oneShot) next() int64 {
	o.seconds++
	return epoch + step*(firstRounds+1) + o.seconds
}

func (o *oneShot) measure(name string) ([]OneShotCase, error) {
	var out []OneShotCase
	for _, verb := range oneShots {
		m := OneShotCase{Series: o.series, Name: name, Command: verb}
		var took []float64
		for i := range o.runs {
			args := []string{o.program, verb, seriesName(i * 7919 % o.series)}
			switch verb {
			case "update":
				args = append(args, fmt.Sprintf("%d:%d", o.next(), i%100))
			case "fetch":
				args = append(args, "AVERAGE", "--start", strconv.Itoa(epoch+step*10), "--end", strconv.Itoa(epoch+step*70))
			}
			cmd := command(o.ctx, o.dir, args)
			var said strings.Builder
			cmd.Stderr = &said
			began := time.Now()
			err := cmd.Run()
			took = append(took, time.Since(began).Seconds()*1e3)
			if err != nil {
				return out, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
			}
			m.CPU += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() * 1e3 / float64(o.runs)
		}
		slices.Sort(took)
		m.Median, m.High = took[len(took)/2], took[len(took)*99/100]
		out = append(out, m)
	}
	return out, nil
}
