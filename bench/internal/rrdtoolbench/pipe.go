package rrdtoolbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Programs are the programs that are measured.
type Programs struct {
	Rondo   string
	RRDTool string // empty: rrdtool is not measured
	// Dir is a new or empty folder for the files of both.
	Dir string
	// Say, if not nil, is called with each step before it begins.
	Say func(string)
}

func (p *Programs) say(format string, args ...any) {
	if p.Say != nil {
		p.Say(fmt.Sprintf(format, args...))
	}
}

// A PipeConfig says which commands are sent to pipe mode.
type PipeConfig struct {
	Programs
	Series []int // numbers of series with one data source and five archives; each is a case
	Lines  int   // updates that are written without waiting for answers
	Waits  int   // further updates, each written after the answer to the one before
}

// A PipeCase is the result of one program for one number of series.
type PipeCase struct {
	Series       int     `json:"series"`
	Name         string  `json:"name"`
	Pipelined    float64 `json:"updates_a_second"`
	PipelinedCPU float64 `json:"cpu_seconds_a_million"` // including the server's
	Waiting      float64 `json:"updates_a_second_one_by_one"`
	WaitingCPU   float64 `json:"cpu_seconds_a_million_one_by_one"`
}

// epoch is the start of the series, and step the time between updates of a series, in seconds.
const (
	epoch = 1_700_000_000
	step  = 10
)

// create returns the command that makes a series.
func create(name string) string {
	return fmt.Sprintf("create %s --start %d --step %d DS:value:GAUGE:600:U:U RRA:AVERAGE:0.5:1:1440 "+
		"RRA:AVERAGE:0.5:6:1440 RRA:AVERAGE:0.5:60:1008 RRA:MAX:0.5:6:1440 RRA:MAX:0.5:60:1008", name, epoch, step)
}

// seriesName returns the name of series i. For rrdtool its folder must exist.
func seriesName(i int) string { return fmt.Sprintf("host%03d/metric-%02d.rrd", i/100, i%100) }

// Pipe measures pipe mode. The order of the cases of one number of series is rrdtool (if it is
// given), rondo with each sync, rondo through a server.
func Pipe(ctx context.Context, c PipeConfig) ([]PipeCase, error) {
	if c.Lines < 1 || c.Waits < 1 || len(c.Series) == 0 {
		return nil, errors.New("bench: series, lines and waits must be at least 1")
	}
	var out []PipeCase
	for _, n := range c.Series {
		if n < 1 {
			return nil, errors.New("bench: series, lines and waits must be at least 1")
		}
		w := newLines(n, c.Lines, c.Waits)
		for _, s := range c.sides(n) {
			c.say("pipe mode, %d series: %s", n, s.name)
			m, err := s.measure(ctx, w)
			if err != nil {
				return out, fmt.Errorf("%s: %w", s.name, err)
			}
			m.Series = n
			out = append(out, m)
		}
	}
	return out, nil
}

// lines are the lines that are written to each program.
type lines struct {
	series    int
	create    []byte
	updates   []byte
	pipelined int
	waiting   [][]byte
}

func newLines(series, updates, waits int) *lines {
	w := &lines{series: series, pipelined: updates}
	for i := range series {
		w.create = append(append(w.create, create(seriesName(i))...), '\n')
	}
	line := func(dst []byte, n int) []byte {
		i, round := n%series, int64(n/series)+1
		cents := (int64(i)*7919 + round*round*31) % 90000
		return fmt.Appendf(dst, "update %s %d:%d.%02d\n", seriesName(i), epoch+step*round, cents/100, cents%100)
	}
	for n := range updates {
		w.updates = line(w.updates, n)
	}
	for n := range waits {
		w.waiting = append(w.waiting, line(nil, updates+n))
	}
	return w
}

// A pipeSide is one program in one configuration.
type pipeSide struct {
	name   string
	dir    string
	args   []string
	server []string // command of a server that must run; nil: no server
}

func (c *PipeConfig) sides(series int) []pipeSide {
	dir := func(name string) string { return filepath.Join(c.Dir, fmt.Sprintf("%s-%d", name, series)) }
	var sides []pipeSide
	if c.RRDTool != "" {
		sides = append(sides, pipeSide{name: "rrdtool", dir: dir("rrdtool"), args: []string{c.RRDTool, "-"}})
	}
	for _, sync := range []string{"interval", "always"} {
		sides = append(sides, pipeSide{name: "rondo, sync=" + sync, dir: dir(sync), args: []string{c.Rondo, "--sync", sync, "rrdtool", "-"}})
	}
	return append(sides, pipeSide{
		name: "rondo, through a server, sync=interval", dir: dir("server"), args: []string{c.Rondo, "rrdtool", "-"},
		server: serveCommand(c.Rondo, "interval"),
	})
}

func (s *pipeSide) measure(ctx context.Context, w *lines) (m PipeCase, err error) {
	m.Name = s.name
	for i := 0; i < w.series; i += 100 {
		if err := os.MkdirAll(filepath.Join(s.dir, filepath.Dir(seriesName(i))), 0o700); err != nil {
			return m, err
		}
	}
	var all processes
	if s.server != nil {
		server, err := startServer(ctx, s.dir, s.server)
		if err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, server.end()) }()
		all = append(all, server)
	}
	p, err := start(ctx, s.dir, s.args)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	all = append(all, p)
	if _, err := p.pipelined(w.create, w.series); err != nil {
		return m, fmt.Errorf("create: %w", err)
	}
	before := all.processor()
	took, err := p.pipelined(w.updates, w.pipelined)
	if err != nil {
		return m, err
	}
	n := float64(w.pipelined)
	m.Pipelined, m.PipelinedCPU = n/took.Seconds(), (all.processor()-before).Seconds()/n*1e6
	before = all.processor()
	began := time.Now()
	for _, line := range w.waiting {
		if _, err := p.in.Write(line); err != nil {
			return m, err
		}
		if err := p.answers(1); err != nil {
			return m, err
		}
	}
	n = float64(len(w.waiting))
	m.Waiting, m.WaitingCPU = n/time.Since(began).Seconds(), (all.processor()-before).Seconds()/n*1e6
	return m, nil
}

// pipelined writes lines without waiting, and reads n answers meanwhile.
func (p *process) pipelined(text []byte, n int) (time.Duration, error) {
	began := time.Now()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(p.in, bytes.NewReader(text))
		sent <- err
	}()
	err := p.answers(n)
	if err != nil {
		_ = p.in.Close() // so that the sender ends
	}
	return time.Since(began), errors.Join(err, <-sent)
}

// answers reads n answers. Every answer must be OK. It must be fast, because its time counts for
// every program.
func (p *process) answers(n int) error {
	for n > 0 {
		if _, err := p.out.Peek(1); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(p.errors.String()))
		}
		data, _ := p.out.Peek(p.out.Buffered()) // they are there
		used := 0
		for n > 0 {
			i := bytes.IndexByte(data[used:], '\n')
			if i < 0 {
				break
			}
			if !bytes.HasPrefix(data[used:], []byte("OK ")) {
				return fmt.Errorf("answer %q", data[used:used+i])
			}
			used += i + 1
			n--
		}
		if used > 0 {
			_, _ = p.out.Discard(used) // they are there
			continue
		}
		line, err := p.out.ReadSlice('\n') // the end of it is yet to come
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(line, []byte("OK ")) {
			return fmt.Errorf("answer %q", line)
		}
		n--
	}
	return nil
}
