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

	"github.com/rondo-db/rondo/query/rrdtool"
)

// firstSecond is the earliest start of a series: about 1980.
const firstSecond = 10 * 365 * 24 * 60 * 60

// Requests to make series that follow each other are carried out side by side: they wait for the disk together.

// maxCreates is how many are.
const maxCreates = 64

// A creating is a CREATE whose words were read.
type creating struct {
	args   []string // of rrdtool create
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
	if err != nil || path == "" {
		c.createAll()
		c.fail(r.cmd, file+": "+errLeaves.Error())
		return
	}
	verb, alone, err := createArgs(c.s, args[1:])
	if err != nil {
		c.createAll()
		c.fail(r.cmd, err.Error())
		return
	}
	path = strings.TrimSuffix(path, ".rrd")
	if _, twice := c.created[path]; twice || alone || len(c.creates) == maxCreates {
		c.createAll()
	}
	if c.created == nil {
		c.created = make(map[string]struct{})
	}
	c.created[path] = struct{}{}
	c.creates = append(c.creates, creating{number: c.number(), args: slices.Concat([]string{"create"}, verb[0], []string{"--", file}, verb[1])})
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
			if _, err := c.s.verb(c.s.life, x.args); err != nil {
				x.answer = failure(err.Error())
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

// createArgs turns the words behind the name into options and arguments of rrdtool create. With alone other series matter to
// this one.
func createArgs(s *Server, words []string) (verb [2][]string, alone bool, err error) {
	usage := fmt.Errorf("Usage: %s", commands[cmdCreate].usage)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "-O":
			verb[0] = append(verb[0], "--no-overwrite")
			continue
		case strings.HasPrefix(word, "DS:"), strings.HasPrefix(word, "RRA:"):
			verb[1] = append(verb[1], word)
			continue
		case word != "-b" && word != "-s" && word != "-t" && word != "-r", len(words) == 0:
			return verb, alone, usage
		}
		value := words[0]
		words = words[1:]
		switch word {
		case "-b":
			n, _, _ := scanInt([]byte(value), 10)
			if n < firstSecond {
				return verb, alone, fmt.Errorf("The first entry must be after 1980.")
			}
			verb[0] = append(verb[0], "--start", strconv.FormatInt(n, 10))
		case "-s":
			if n, _, _ := scanInt([]byte(value), 10); n > 0 {
				verb[0] = append(verb[0], "--step", strconv.FormatInt(n, 10))
			}
		case "-t":
			verb[0], alone = append(verb[0], "--template", s.names.file(value)), true
		case "-r":
			verb[0], alone = append(verb[0], "--source", s.names.file(value)), true
		}
	}
	return verb, alone, nil
}

// tune changes a series, as rrdtool tune does.
func (c *conn) tune(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.usage(r.cmd)
		return
	}
	args[0] = c.s.names.file(args[0])
	out, err := c.s.verb(c.s.life, slices.Concat([]string{"tune"}, args))
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	if out = strings.ReplaceAll(strings.TrimSpace(out), "\n", " "); out == "" {
		out = "RRD tuned OK"
	}
	c.slot("0 " + out)
}

// verb runs a verb of rrdtool, whose first argument stands for a file, and returns what it printed. The error is told as rrdcached
// tells it.
func (s *Server) verb(ctx context.Context, args []string) (string, error) {
	var out, errOut bytes.Buffer
	if code := rrdtool.Run(ctx, s.env(&out, &errOut), args); code != 0 {
		return "", verbError(&errOut)
	}
	return out.String(), nil
}

func (s *Server) env(out io.Writer, errOut *bytes.Buffer) *rrdtool.Env {
	return &rrdtool.Env{Store: s.o.Store, Stdout: out, Stderr: errOut, Now: s.o.Now, Base: s.names.base}
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
	w := &outWriter{c: c}
	var errOut bytes.Buffer
	if code := rrdtool.Run(c.s.life, c.s.env(w, &errOut), slices.Concat([]string{"dump"}, args)); code != 0 && !w.begun {
		c.fail(r.cmd, verbError(&errOut).Error())
		return
	}
	c.closing = true
}

// An outWriter writes to the peer.
type outWriter struct {
	c     *conn
	begun bool
}

func (w *outWriter) Write(p []byte) (int, error) {
	w.begun = w.begun || len(p) > 0
	w.c.out = append(w.c.out, p...)
	if len(w.c.out) >= answerBytes {
		if err := w.c.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
