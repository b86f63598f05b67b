package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/rrdtool"
)

// firstSecond is the earliest start of a series: about 1980.
const firstSecond = 10 * 365 * 24 * 60 * 60

// create makes a series, as rrdtool create does.
func (c *conn) create(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.usage(r.cmd)
		return
	}
	file := c.s.names.file(args[0])
	if path, err := c.s.names.path(args[0]); err != nil || path == "" {
		c.fail(r.cmd, file+": "+errLeaves.Error())
		return
	}
	verb, err := createArgs(c.s, args[1:])
	if err != nil {
		c.fail(r.cmd, err.Error())
		return
	}
	c.verb(r.cmd, slices.Concat([]string{"create"}, verb[0], []string{"--", file}, verb[1]), func([]byte) { c.slot("0 RRD created OK") })
}

// createArgs turns the words behind the name into options and arguments of rrdtool create.
func createArgs(s *Server, words []string) (verb [2][]string, err error) {
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
			return verb, usage
		}
		value := words[0]
		words = words[1:]
		switch word {
		case "-b":
			n, _, _ := scanInt([]byte(value), 10)
			if n < firstSecond {
				return verb, fmt.Errorf("The first entry must be after 1980.")
			}
			verb[0] = append(verb[0], "--start", strconv.FormatInt(n, 10))
		case "-s":
			if n, _, _ := scanInt([]byte(value), 10); n > 0 {
				verb[0] = append(verb[0], "--step", strconv.FormatInt(n, 10))
			}
		case "-t":
			verb[0] = append(verb[0], "--template", s.names.file(value))
		case "-r":
			verb[0] = append(verb[0], "--source", s.names.file(value))
		}
	}
	return verb, nil
}

// tune changes a series, as rrdtool tune does.
func (c *conn) tune(r *request) {
	args := r.words()
	if len(args) == 0 {
		c.usage(r.cmd)
		return
	}
	args[0] = c.s.names.file(args[0])
	c.verb(r.cmd, slices.Concat([]string{"tune"}, args), func(out []byte) {
		c.slot("0 " + strings.ReplaceAll(string(bytes.TrimSpace(out)), "\n", " "))
	})
}

// verb runs a verb of rrdtool, whose first argument stands for a file. done answers with what it printed; an error is answered
// here.
func (c *conn) verb(cmd *command, args []string, done func(out []byte)) {
	var out, errOut bytes.Buffer
	if code := rrdtool.Run(c.s.life, c.env(&out, &errOut), args); code != 0 {
		c.fail(cmd, verbError(&errOut))
		return
	}
	done(out.Bytes())
}

func (c *conn) env(out, errOut *bytes.Buffer) *rrdtool.Env {
	return &rrdtool.Env{Store: c.s.o.Store, Stdout: out, Stderr: errOut, Now: c.s.o.Now, Base: c.s.names.base}
}

// verbError is what a verb said on the standard error output, as rrdcached tells it.
func verbError(errOut *bytes.Buffer) string {
	return "RRD Error: " + strings.TrimSpace(strings.TrimPrefix(errOut.String(), "ERROR: "))
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
	env := c.env(nil, &errOut)
	env.Stdout = w
	if code := rrdtool.Run(c.s.life, env, slices.Concat([]string{"dump"}, args)); code != 0 && !w.begun {
		c.fail(r.cmd, verbError(&errOut))
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
