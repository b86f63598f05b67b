package rrdcachedbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Run measures rondo, and rrdcached if it is given. With an error it returns what it has measured.
func Run(ctx context.Context, c Config) ([]Measured, error) {
	if c.Say == nil {
		c.Say = func(string) {}
	}
	if c.Series < 1 || c.Rounds < 1 || c.Single < 0 || c.Kills < 0 || c.Connections < 1 {
		return nil, errors.New("bench: series, rounds and connections must be at least 1, single and kills not negative")
	}
	if c.Archives != 5 && c.Archives != 15 {
		return nil, errors.New("bench: archives must be 5 or 15")
	}
	var out []Measured
	for _, p := range c.programs() {
		out = append(out, Measured{Name: p.name, FetchSeries: min(fetchMany, c.Series)})
		m := &out[len(out)-1]
		if err := measure(ctx, &c, p.side(c.Dir, "", true), m); err != nil {
			return out, fmt.Errorf("%s: %w", p.name, err)
		}
		c.Say(p.name + ": kill -9")
		if err := kills(ctx, &c, p.side(c.Dir, "k", false), m); err != nil {
			return out, fmt.Errorf("%s: kill -9: %w", p.name, err)
		}
	}
	return out, nil
}

// A program is rondo or rrdcached.
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

// side returns a server of the program in a folder below dir. With flush, rrdcached writes all
// samples when it ends.
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
	w := newWork(c, s, m, newFiles(c.Series, c.Seed))
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
		s.quiet() // work that is left over must not count for the next step
	}
	m.PeakMemory = s.peakMemory()
	before := s.processor()
	if err := s.down(); err != nil {
		return err
	}
	ended = true
	// The work at the end of a server is for all its updates, so the measured ones get their share.
	share := (s.total() - before).Seconds() / float64(w.sent)
	m.CPU = m.CPUUpdates + share*1e6
	return nil
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
