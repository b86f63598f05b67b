package rrdcached

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/rra"
)

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
