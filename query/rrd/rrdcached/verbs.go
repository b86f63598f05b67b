package rrdcached

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// tune changes a series as rrdtool tune does.
func (c *conn) tune(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.usage(r.cmd)
		return
	}
	args[0] = c.s.names.file(args[0])
	end, err := c.s.turn(c.ctx, c.host, c.s.isLarge(args[0], args[1:]))
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	defer end()
	out, err := c.s.verb(c.s.life, slices.Concat([]string{"tune"}, args), false)
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	if out = strings.ReplaceAll(strings.TrimSpace(out), "\n", " "); out == "" {
		out = "RRD tuned OK"
	}
	c.slot("0 " + out)
}

// verb runs a verb of rrdtool and returns what the verb has printed. The error has rrdcached's
// text.
func (s *Server) verb(ctx context.Context, args []string, keepSame bool) (string, error) {
	var out, errOut bytes.Buffer
	env := s.env(&out, &errOut)
	env.KeepSame = keepSame
	env.Location = time.UTC // startText gives times in UTC
	if code := rrdtool.Run(ctx, env, args); code != 0 {
		return "", verbError(&errOut)
	}
	return out.String(), nil
}

func (s *Server) env(out io.Writer, errOut *bytes.Buffer) *rrdtool.Env {
	return &rrdtool.Env{Store: finding{core.Simple{Engine: s.o.Store}, s}, Stdout: out, Stderr: errOut, Now: s.o.Now, Base: s.names.base, RealBase: s.names.real}
}

// verbError returns the text that a verb has printed on standard error, as an error.
func verbError(errOut *bytes.Buffer) error {
	return errors.New("RRD Error: " + strings.TrimSpace(strings.TrimPrefix(errOut.String(), "ERROR: ")))
}

// dump writes a series as XML and disconnects.
func (c *conn) dump(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.usage(r.cmd)
		return
	}
	args[0] = c.s.names.file(args[0])
	values := c.s.values(args[0])
	if err := c.charge(8 * values); err != nil {
		c.fail(r.cmd, "RRD Error: "+err.Error())
		return
	}
	end, err := c.s.turn(c.ctx, c.host, values > largeSeries)
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	// The turn ends before the first byte is sent: the rows are in memory and charged by then, so a
	// slow reader delays nobody else.
	w := &outWriter{c: c, first: end}
	defer w.begin()
	var errOut bytes.Buffer
	if code := rrdtool.Run(c.s.life, c.s.env(w, &errOut), slices.Concat([]string{"dump"}, args)); code != 0 && !w.begun {
		c.fail(r.cmd, verbError(&errOut).Error())
		return
	}
	c.closing = true
}

// An outWriter writes the output of a verb to the peer.
type outWriter struct {
	c     *conn
	first func() // is called before the first byte is written; nil: it was called
	begun bool   // bytes were written
}

func (w *outWriter) begin() {
	if w.first != nil {
		w.first()
		w.first = nil
	}
}

func (w *outWriter) Write(p []byte) (int, error) {
	w.begin()
	w.begun = w.begun || len(p) > 0
	w.c.out = append(w.c.out, p...)
	if len(w.c.out) >= answerBytes {
		if err := w.c.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// isLarge reports whether a series is large, or may become large by the words of a TUNE.
func (s *Server) isLarge(name string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(w, "RRA") {
			return true // an archive of any size
		}
	}
	return s.values(name) > largeSeries
}

// values returns how many values a series keeps, or 0 if no series has that name.
func (s *Server) values(name string) int64 {
	e, err := s.lookup([]byte(wire.Escape(name)))
	if err != nil {
		return 0 // the verb reports it
	}
	return rrdtool.Values(e.d)
}
