package graphitebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"
)

// A Config says what Run measures.
type Config struct {
	Dir            string // to work in; empty
	Rondo          string // the program
	Carbon         string // go-carbon; empty: do not compare
	Names, Rounds  int
	Conns          int
	Say            func(format string, args ...any)
	ReadyIn, Limit time.Duration // for the start of a program, and for all its points
}

// Figures are the results of one program.
type Figures struct {
	Program string
	Points  int
	Seconds float64 // from the first byte until all points are stored
	Rate    float64 // points a second
	CPU     float64 // seconds a million points, of the whole run
}

// Run measures both programs, one after the other.
func Run(ctx context.Context, c Config) (all []Figures, err error) {
	l := newLoad(c.Names, c.Rounds, c.Conns, time.Now().Unix()/step*step)
	for _, s := range []struct {
		name, program string
		make          func(program, dir string) subject
	}{
		{"rondo", c.Rondo, func(program, dir string) subject { return &rondo{program: program, dir: dir} }},
		{"go-carbon", c.Carbon, func(program, dir string) subject { return &carbon{program: program, dir: dir} }},
	} {
		if s.program == "" {
			continue
		}
		dir := filepath.Join(c.Dir, s.name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		f, err := c.measure(ctx, s.make(s.program, dir), l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		f.Program = s.name
		all = append(all, f)
	}
	return all, nil
}

// measure starts a program, sends the first round, which makes the series, and measures the others.
func (c *Config) measure(ctx context.Context, s subject, l *load) (f Figures, err error) {
	addr, err := freeAddr()
	if err != nil {
		return f, err
	}
	cmd, err := s.command(ctx, addr)
	if err != nil {
		return f, err
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return f, err
	}
	f, err = c.load(ctx, s, l, addr)
	if ended := end(cmd); err != nil {
		return f, errors.Join(err, ended, errors.New(said.String()))
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	f.CPU = used.Seconds() / float64(f.Points+l.names) * 1e6
	return f, nil
}

// end ends a program, however it takes that.
func end(cmd *exec.Cmd) error {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	stop := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	return cmd.Wait()
}

func (c *Config) load(ctx context.Context, s subject, l *load, addr string) (f Figures, err error) {
	conns := make([]net.Conn, l.conns)
	for i := range conns {
		if conns[i], err = c.dial(ctx, addr); err != nil {
			return f, err
		}
		defer func() { _ = conns[i].Close() }() // all is stored
	}
	c.Say("making %d series", l.names)
	if err := l.send(conns, 0, 1); err != nil {
		return f, err
	}
	if err := c.wait(ctx, s, l, 0); err != nil {
		return f, err
	}
	c.Say("sending %d points", l.names*c.Rounds)
	began := time.Now()
	if err := l.send(conns, 1, c.Rounds+1); err != nil {
		return f, err
	}
	if err := c.wait(ctx, s, l, c.Rounds); err != nil {
		return f, err
	}
	f.Points, f.Seconds = l.names*c.Rounds, time.Since(began).Seconds()
	f.Rate = float64(f.Points) / f.Seconds
	return f, nil
}

// dial connects to a program that has just been started.
func (c *Config) dial(ctx context.Context, addr string) (net.Conn, error) {
	for end := time.Now().Add(c.ReadyIn); ; time.Sleep(5 * time.Millisecond) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil || time.Now().After(end) {
			return conn, err
		}
	}
}

// wait waits until all points up to a round are stored. Each question takes about a millisecond of
// rondo's processor time.
func (c *Config) wait(ctx context.Context, s subject, l *load, round int) error {
	for end := time.Now().Add(c.Limit); ; time.Sleep(10 * time.Millisecond) {
		done, err := s.stored(l, round)
		if done || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the points are not stored within %v", c.Limit)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// WriteText writes the figures for people.
func WriteText(w io.Writer, all []Figures) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// Flush returns the error.
	_, _ = fmt.Fprintln(t, "program\tpoints\tseconds until stored\tpoints a second\tCPU s a million\tratio of points\tof CPU\t")
	for _, f := range all {
		points, cpu := "", ""
		if f.Program == "rondo" && len(all) > 1 {
			points, cpu = fmt.Sprintf("×%.3g", f.Rate/all[1].Rate), fmt.Sprintf("%.3f", f.CPU/all[1].CPU)
		}
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.2f\t%.0f\t%.2f\t%s\t%s\t\n", f.Program, f.Points, f.Seconds, f.Rate, f.CPU, points, cpu)
	}
	return t.Flush()
}
