package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/rra"
)

// create gathers a CREATE. It runs together with the CREATEs that follow it directly.
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
	words, err := createArgs(args[1:])
	if err != nil {
		c.createAll()
		c.fail(r.cmd, err.Error())
		return
	}
	seen := ""
	if c.peer == sockets.Local && strings.HasPrefix(args[0], "/") {
		seen = path
	}
	full := path
	path = strings.TrimSuffix(path, ".rrd")
	if _, twice := c.created[path]; twice || words.alone || len(c.creates) == maxCreates || c.createBytes > maxCreateBytes {
		c.createAll()
	}
	if c.created == nil {
		c.created = make(map[string]struct{})
	}
	c.created[path] = struct{}{}
	c.creates = append(c.creates, creating{
		number: c.number(), alone: words.alone, seen: seen, path: full, file: file, start: words.start, d: c.definition(&words),
		args: slices.Concat([]string{"create"}, words.verb[0], []string{"--", file}, words.verb[1]),
	})
	for _, arg := range args {
		c.createBytes += len(arg)
	}
	if words.alone {
		c.createAll()
	}
}

// A createWords is what the words of a CREATE behind its name say.
type createWords struct {
	verb  [2][]string // the options and the arguments of rrdtool create
	alone bool        // other series are read
	keeps bool        // a series that exists is kept
	start int64       // seconds since 1970; 0: not given
	step  int64       // seconds; 0: not given
}

// createArgs reads the words of a CREATE behind its name.
func createArgs(words []string) (c createWords, err error) {
	usage := fmt.Errorf("Usage: %s", commands[cmdCreate].usage)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		option := word[:min(len(word), 2)] // rrdcached compares no more of an option
		switch {
		case option == "-O":
			c.verb[0], c.keeps = append(c.verb[0], "--no-overwrite"), true
			continue
		case strings.HasPrefix(word, "DS:"), strings.HasPrefix(word, "RRA:"):
			c.verb[1] = append(c.verb[1], word)
			continue
		case option != "-b" && option != "-s" && option != "-t" && option != "-r", len(words) == 0:
			return c, usage
		}
		value := words[0]
		words = words[1:]
		switch option {
		case "-b":
			n, _, _ := numeral.Scan(value, 10)
			if n == -1 {
				continue // the same as no start
			}
			if n < firstSecond {
				return c, fmt.Errorf("The first entry must be after 1980.")
			}
			c.start = n
			c.verb[0] = append(c.verb[0], "--start", startText(n))
		case "-s":
			if n, _, _ := numeral.Scan(value, 10); n > 0 {
				c.step = n
				c.verb[0] = append(c.verb[0], "--step", strconv.FormatInt(n, 10))
			}
		case "-t":
			c.verb[0], c.alone = append(c.verb[0], "--template", value), true
		case "-r":
			c.verb[0], c.alone = append(c.verb[0], "--source", value), true
		}
	}
	return c, nil
}

// startText returns a time in the form in which the verb reads it as seconds since 1970. A short
// number alone would be read as a date.
func startText(n int64) string {
	const manyDigits, in1980 = 1_000_000_000, 315_532_800
	if n < manyDigits {
		return fmt.Sprintf("00:00 19800101%+ds", n-in1980)
	}
	return strconv.FormatInt(n, 10)
}

// createError replaces the error for a missing source by rrdcached's text.
func createError(err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "RRD Error: error checking for source RRD ")
	if !ok {
		return err
	}
	return errors.New("RRD Error: Cannot open source RRD " + strings.TrimSuffix(rest, ": No such file or directory"))
}

// makeSeen runs a CREATE. For a client on this machine it keeps an existing series of the same
// definition if the client sees no file of its name, because the client then creates the series
// only for want of the file.
func (c *conn) makeSeen(x *creating) error {
	same := x.seen != "" && !transfer.Sees(c.s.names.base, x.seen)
	_, err := c.s.verb(c.s.life, x.args, same)
	if err == nil && x.seen != "" {
		transfer.Show(c.s.names.base, x.seen)
	}
	return err
}

// Nearly every CREATE makes a series that does not exist, with the data sources and archives of
// many others. Such CREATEs that follow each other become one record of the log, and equal
// definitions are parsed once. All others, and all that fail, run as commands of rrdtool, whose
// errors they answer.

const (
	maxCreates     = 1024      // how many CREATEs are gathered
	maxCreateBytes = 512 << 10 // of their arguments
	createsAtOnce  = 64        // how many run as commands at once
)

// createAll runs the CREATEs that were gathered, and answers them.
func (c *conn) createAll() {
	if len(c.creates) == 0 {
		return
	}
	c.drain()
	c.createTogether()
	room := make(chan struct{}, createsAtOnce)
	var running sync.WaitGroup
	for i := range c.creates {
		x := &c.creates[i]
		if x.answer != "" {
			continue
		}
		room <- struct{}{}
		running.Go(func() {
			x.answer = c.createAlone(x)
			<-room
		})
	}
	running.Wait()
	for i := range c.creates {
		answer := c.creates[i].answer
		if answer[0] == '-' {
			c.counts[cmdCreate].errors++
		}
		c.slot(answer)
		c.burst.slots[c.burst.cur].number = c.creates[i].number
	}
	clear(c.creates)
	clear(c.created)
	c.creates, c.createBytes = c.creates[:0], 0
}

// createdOK is the answer to a CREATE that has made its series.
const createdOK = "0 RRD created OK"

// createTogether makes the series of all CREATEs for which it is known what rrdtool would make, and
// answers these. It leaves out those that would fail.
func (c *conn) createTogether() {
	specs := make([]core.Spec, 0, len(c.creates))
	of := make([]*creating, 0, len(c.creates)) // the CREATE of each spec
	now := c.s.o.Now().Unix()
	for i := range c.creates {
		x := &c.creates[i]
		if x.d == nil {
			continue
		}
		if x.seen != "" && !transfer.Sees(c.s.names.base, x.seen) {
			if _, err := c.s.find(x.path); !errors.Is(err, core.ErrNotFound) {
				continue // it may be kept
			}
		}
		start := x.start
		if start == 0 {
			start = now - 10
		}
		specs = append(specs, core.Spec{Path: x.path, Definition: x.d, Start: rra.Seconds(start), Overwrite: true, SmoothHash: rra.NameHash(x.file)})
		of = append(of, x)
	}
	if len(specs) == 0 {
		return
	}
	out, err := c.s.o.Store.CreateBatch(c.s.life, specs)
	if err != nil {
		return
	}
	for i, x := range of {
		if out[i].Err != nil {
			continue
		}
		x.answer = createdOK
		if x.seen != "" {
			transfer.Show(c.s.names.base, x.seen)
		}
	}
}

// createAlone runs a CREATE as a command of rrdtool, and returns its answer.
func (c *conn) createAlone(x *creating) string {
	if x.alone {
		end, err := c.s.turn(c.ctx, c.host, true)
		if err != nil {
			return failure(explain(err))
		}
		defer end()
	}
	if err := c.makeSeen(x); err != nil {
		return failure(createError(err).Error())
	}
	return createdOK
}

// maxDefinitions bounds the definitions that a connection remembers.
const maxDefinitions = 32

// definition returns the definition that words say, or nil if rrdtool has to say what is wrong with
// them. Its callers share it.
func (c *conn) definition(words *createWords) *rra.Definition {
	if !words.plain() {
		return nil
	}
	key := strconv.FormatInt(words.step, 10) + "\n" + strings.Join(words.verb[1], "\n")
	if d, known := c.definitions[key]; known {
		return d
	}
	d, err := rrdtool.Definition(words.step, words.verb[1])
	if err != nil {
		return nil
	}
	if c.definitions == nil || len(c.definitions) == maxDefinitions {
		c.definitions = make(map[string]*rra.Definition)
	}
	c.definitions[key] = d
	return d
}

// plain reports whether words ask for a new series with a step and a start that every command
// accepts.
func (w *createWords) plain() bool {
	const most = 1 << 32
	return !w.alone && !w.keeps && len(w.verb[1]) > 0 && w.step < most && w.start < most
}
