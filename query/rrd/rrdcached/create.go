package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// firstSecond is the earliest start of a series: about 1980.
const firstSecond = 10 * 365 * 24 * 60 * 60

// Requests to make series that follow each other are carried out side by side: they wait for the
// disk together.

// maxCreates is how many are.
const maxCreates = 64

// A creating is a CREATE whose words were read.
type creating struct {
	args   []string // of rrdtool create
	base   string   // of the names in it
	alone  bool     // other series matter to it
	seen   string   // where the client looks for the file, below the base; empty: nowhere
	number int32    // of the request in a BATCH
	answer string
}

// create takes a request to make a series, as rrdtool create does.
func (c *conn) create(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.createAll()
		c.usage(r.cmd)
		return
	}
	file := c.s.names.file(args[0])
	path, err := c.s.names.path(args[0])
	if path == "" {
		c.createAll()
		if bad := (*nameError)(nil); errors.As(err, &bad) {
			c.fail(r.cmd, bad.Error())
		} else {
			c.fail(r.cmd, file+": "+errLeaves.Error())
		}
		return
	}
	base := c.s.names.baseOf(file)
	verb, alone, err := createArgs(args[1:], func(name string) string { return c.s.names.below(base, name) })
	if err != nil {
		c.createAll()
		c.fail(r.cmd, err.Error())
		return
	}
	seen := ""
	if c.peer == sockets.Local && strings.HasPrefix(args[0], "/") {
		seen = path
	}
	path = strings.TrimSuffix(path, ".rrd")
	if _, twice := c.created[path]; twice || alone || len(c.creates) == maxCreates {
		c.createAll()
	}
	if c.created == nil {
		c.created = make(map[string]struct{})
	}
	c.created[path] = struct{}{}
	c.creates = append(c.creates, creating{number: c.number(), alone: alone, base: base, seen: seen, args: slices.Concat([]string{"create"}, verb[0], []string{"--", file}, verb[1])})
	if alone {
		c.createAll()
	}
}

// createAll makes the series that were gathered, and answers.
func (c *conn) createAll() {
	if len(c.creates) == 0 {
		return
	}
	c.settle()
	var running sync.WaitGroup
	for i := range c.creates {
		x := &c.creates[i]
		make := func() {
			x.answer = "0 RRD created OK"
			if x.alone {
				end, err := c.s.turns.take(c.ctx, true)
				if err != nil {
					x.answer = failure(err.Error())
					return
				}
				defer end()
			}
			if err := c.makeSeen(x); err != nil {
				x.answer = failure(createError(err).Error())
			}
		}
		if len(c.creates) == 1 {
			make()
		} else {
			running.Go(make)
		}
	}
	running.Wait()
	for i := range c.creates {
		answer := c.creates[i].answer
		if answer[0] == '-' {
			c.counts[cmdCreate].errors++
		}
		c.slot(answer)
		c.group.slots[c.group.cur].number = c.creates[i].number
	}
	clear(c.creates)
	clear(c.created)
	c.creates = c.creates[:0]
}

// createArgs turns the words behind the name into options and arguments of rrdtool create, names of
// other series by below. With alone these matter to this one.
func createArgs(words []string, below func(name string) string) (verb [2][]string, alone bool, err error) {
	usage := fmt.Errorf("Usage: %s", commands[cmdCreate].usage)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		option := word[:min(len(word), 2)] // of an option no more is looked at
		switch {
		case option == "-O":
			verb[0] = append(verb[0], "--no-overwrite")
			continue
		case strings.HasPrefix(word, "DS:"), strings.HasPrefix(word, "RRA:"):
			verb[1] = append(verb[1], word)
			continue
		case option != "-b" && option != "-s" && option != "-t" && option != "-r", len(words) == 0:
			return verb, alone, usage
		}
		value := words[0]
		words = words[1:]
		switch option {
		case "-b":
			n, _, _ := scanInt([]byte(value), 10)
			if n == -1 {
				continue // what is said where nothing is
			}
			if n < firstSecond {
				return verb, alone, fmt.Errorf("The first entry must be after 1980.")
			}
			verb[0] = append(verb[0], "--start", startText(n))
		case "-s":
			if n, _, _ := scanInt([]byte(value), 10); n > 0 {
				verb[0] = append(verb[0], "--step", strconv.FormatInt(n, 10))
			}
		case "-t":
			verb[0], alone = append(verb[0], "--template", below(value)), true
		case "-r":
			verb[0], alone = append(verb[0], "--source", below(value)), true
		}
	}
	return verb, alone, nil
}

// startText is a second as the verb reads it: of few digits alone it would be a date.
func startText(n int64) string {
	const manyDigits, in1980 = 1_000_000_000, 315_532_800
	if n < manyDigits {
		return fmt.Sprintf("00:00 19800101%+ds", n-in1980)
	}
	return strconv.FormatInt(n, 10)
}

// createError puts into rrdcached's words that there is no source.
func createError(err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "RRD Error: error checking for source RRD ")
	if !ok {
		return err
	}
	return errors.New("RRD Error: Cannot open source RRD " + strings.TrimSuffix(rest, ": No such file or directory"))
}

// tune changes a series, as rrdtool tune does.
func (c *conn) tune(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.usage(r.cmd)
		return
	}
	args[0] = c.s.names.file(args[0])
	end, err := c.s.turns.take(c.ctx, c.s.isLarge(args[0], args[1:]))
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	defer end()
	out, err := c.s.verb(c.s.life, c.s.names.baseOf(args[0]), slices.Concat([]string{"tune"}, args), false)
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	if out = strings.ReplaceAll(strings.TrimSpace(out), "\n", " "); out == "" {
		out = "RRD tuned OK"
	}
	c.slot("0 " + out)
}

// verb runs a verb of rrdtool, whose names are below base, and returns what it printed. The error
// is told as rrdcached tells it.
func (s *Server) verb(ctx context.Context, base string, args []string, keepSame bool) (string, error) {
	var out, errOut bytes.Buffer
	env := s.env(base, &out, &errOut)
	env.KeepSame = keepSame
	env.Location = time.UTC // of startText
	if code := rrdtool.Run(ctx, env, args); code != 0 {
		return "", verbError(&errOut)
	}
	return out.String(), nil
}

func (s *Server) env(base string, out io.Writer, errOut *bytes.Buffer) *rrdtool.Env {
	return &rrdtool.Env{Store: finding{s.o.Store, s}, Stdout: out, Stderr: errOut, Now: s.o.Now, Base: base}
}

// verbError is what a verb said on the standard error output.
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
	end, err := c.s.turns.take(c.ctx, values > largeSeries)
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	// What is printed is all in memory by then, and charged: how fast it is read is nobody else's
	// concern.
	w := &outWriter{c: c, first: end}
	defer w.begin()
	var errOut bytes.Buffer
	if code := rrdtool.Run(c.s.life, c.s.env(c.s.names.baseOf(args[0]), w, &errOut), slices.Concat([]string{"dump"}, args)); code != 0 && !w.begun {
		c.fail(r.cmd, verbError(&errOut).Error())
		return
	}
	c.closing = true
}

// An outWriter writes to the peer.
type outWriter struct {
	c     *conn
	first func() // called before anything is written; nil: it was
	begun bool
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

// isLarge reports whether a series is, or becomes by the words of a TUNE.
func (s *Server) isLarge(name string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(w, "RRA") {
			return true // of any size
		}
	}
	return s.values(name) > largeSeries
}

// values returns how many values a series keeps; 0 if there is none of that name.
func (s *Server) values(name string) (n int64) {
	e, err := s.lookup([]byte(wire.Escape(name)))
	if err != nil {
		return 0 // the verb will say so
	}
	for i := range e.d.Archives {
		n += e.d.Archives[i].Rows * int64(len(e.d.Sources))
	}
	return n
}

// makeSeen makes a series. One of the same definition that is there without a file that the client
// could see is kept, unless the client is on another machine.
func (c *conn) makeSeen(x *creating) error {
	same := x.seen != "" && !transfer.Sees(c.s.names.base, x.seen)
	_, err := c.s.verb(c.s.life, x.base, x.args, same)
	if err == nil && x.seen != "" {
		transfer.Show(c.s.names.base, x.seen)
	}
	return err
}
