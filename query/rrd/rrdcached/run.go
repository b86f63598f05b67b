package rrdcached

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// quick answers a request that does not have to wait for the samples before it.
func (c *conn) quick(r *request) {
	switch r.cmd.id {
	case cmdPing:
		c.slot("0 PONG")
	case cmdQueue:
		c.slot("0 in queue.")
	case cmdHelp:
		c.help(r)
	case cmdFlushAll:
		c.flushAll(r.cmd)
	case cmdSuspendAll:
		c.slot(fmt.Sprintf("0 %d rrds suspend", c.s.cache.suspendAll(true)))
	case cmdResumeAll:
		c.slot(fmt.Sprintf("0 %d rrds resumed", c.s.cache.suspendAll(false)))
	default:
		raw, ok := r.nextRaw()
		if !ok {
			c.usage(r.cmd)
			return
		}
		c.quickFile(r.cmd, raw)
	}
}

// quickFile answers a request about one series whose answer only depends on whether it exists.
func (c *conn) quickFile(cmd *command, raw []byte) {
	if cmd.id == cmdPending {
		c.slot("0 updates pending")
		return
	}
	e, err := c.s.lookup(raw)
	file := c.s.names.file(string(wire.Unescape(raw)))
	switch {
	case errors.Is(err, errLeaves):
		c.fail(cmd, file+": "+err.Error())
		return
	case err != nil && !errors.Is(err, core.ErrNotFound) && !errors.Is(err, errNoSeries):
		c.fail(cmd, explain(err))
		return
	}
	switch cmd.id {
	case cmdFlush:
		if err != nil {
			c.fail(cmd, "No such file: "+file+".")
			return
		}
		c.flushSeries(cmd, e, file)
	case cmdForget:
		if err != nil {
			c.fail(cmd, "No such file or directory")
			return
		}
		c.slot("0 Gone!")
	default:
		if err != nil {
			c.fail(cmd, file+" - No such file or directory")
			return
		}
		c.slot("0 " + file + c.suspend(cmd, e.path))
	}
}

func (c *conn) suspend(cmd *command, path string) string {
	on := cmd.id == cmdSuspend
	switch fresh := c.s.cache.suspend(path, on); {
	case on && fresh:
		return " suspended"
	case on:
		return " already suspended"
	case fresh:
		return " resumed"
	}
	return " not suspended"
}

func (c *conn) help(r *request) {
	word, _ := r.next()
	title, lines := shown(findCommand(word))
	c.slot(fmt.Sprintf("%d %s\n%s", len(lines), title, strings.Join(lines, "\n")))
}

// run answers a request. All requests before it are stored and answered.
func (c *conn) run(r *request) {
	switch r.cmd.id {
	case cmdQuit:
		c.closing = true
	case cmdStats:
		c.showStats()
	case cmdInfo:
		c.info(r)
	case cmdFirst:
		c.first(r)
	case cmdLast:
		c.lastUpdate(r)
	case cmdTune:
		c.tune(r)
	case cmdDump:
		c.dump(r)
	case cmdList:
		c.list(r)
	}
}

// showStats shows rrdcached's counters. Those without a meaning here have a fixed value.
func (c *conn) showStats() {
	c.count()
	st, store := &c.s.stats, c.s.o.Store.Stats()
	c.out = append(c.out, "9 Statistics follow\n"...)
	for _, f := range []struct {
		name  string
		value uint64
	}{
		{"QueueLength", 0},
		{"UpdatesReceived", st.requests[cmdUpdate].Load()},
		{"FlushesReceived", st.requests[cmdFlush].Load()},
		{"UpdatesWritten", store.Batches},
		{"DataSetsWritten", store.SamplesAccepted},
		{"TreeNodesNumber", uint64(store.Series)},
		{"TreeDepth", 1},
		{"JournalBytes", store.LogWritten},
		{"JournalRotate", store.Checkpoints},
	} {
		c.out = fmt.Appendf(c.out, "%s: %d\n", f.name, f.value)
	}
}

// file returns the series that the next word of a request names. If there is no such series, file
// answers the request and returns false.
func (c *conn) file(r *request) (e *alias, file string, ok bool) {
	raw, ok := r.nextRaw()
	if !ok {
		c.usage(r.cmd)
		return nil, "", false
	}
	e, err := c.s.lookup(raw)
	file = c.s.names.file(string(wire.Unescape(raw)))
	if err != nil {
		c.fail(r.cmd, c.unopened(r.cmd, file, err))
		return nil, "", false
	}
	return e, file, true
}

// unopened returns rrdcached's text for a command whose series was not found.
func (c *conn) unopened(cmd *command, file string, err error) string {
	switch {
	case errors.Is(err, errLeaves):
		return file + ": " + err.Error()
	case errors.Is(err, core.ErrNotFound), errors.Is(err, errNoSeries):
		return failed(cmd) + "opening '" + file + "': No such file or directory"
	}
	return failed(cmd) + explain(err)
}

// failed returns the text that rrdcached puts in front of the error of a command.
func failed(cmd *command) string {
	if cmd.id == cmdFetch || cmd.id == cmdFetchBin {
		return "rrd_fetch_r failed: "
	}
	return "RRD Error: "
}

// info shows the definition and the state of a series.
func (c *conn) info(r *request) {
	e, file, ok := c.file(r)
	if !ok {
		return
	}
	var info core.Info
	err := c.read(e, func(e *alias) (err error) {
		info, err = c.s.o.Store.Info(e.ref)
		return err
	})
	if err != nil {
		c.fail(r.cmd, c.unopened(r.cmd, file, err))
		return
	}
	lines := rrdtool.Info(file, &info)
	c.out = fmt.Appendf(c.out, "%d Info for %s follows\n", len(lines), file)
	for _, l := range lines {
		c.out = fmt.Appendf(c.out, "%s %d %s\n", oneLine(l.Key), l.Kind, oneLine(l.Value))
	}
}

// lastUpdate shows the time of the last sample, rounded down to a whole step as in rrdcached.
func (c *conn) lastUpdate(r *request) {
	e, file, ok := c.file(r)
	if !ok {
		return
	}
	d, t, err := c.lastOf(e)
	if err != nil {
		c.fail(r.cmd, c.unopened(r.cmd, file, err))
		return
	}
	c.slot("0 " + strconv.FormatInt(t-t%d.Step, 10))
}

// lastOf returns the definition of a series, and the second of its last update.
func (c *conn) lastOf(e *alias) (d *rra.Definition, t int64, err error) {
	err = c.read(e, func(e *alias) error {
		last, err := core.Last(context.Background(), c.s.o.Store, e.ref)
		d, t = e.d, last.Unix()
		return err
	})
	return d, t, err
}

// first shows the time of the first row of an archive.
func (c *conn) first(r *request) {
	raw, ok := r.nextRaw()
	word, has := r.next()
	if !ok || !has {
		c.usage(r.cmd)
		return
	}
	index := leadingInt(word)
	if _, err := c.s.names.path(string(wire.Unescape(raw))); err == nil && index < 0 {
		c.fail(r.cmd, fmt.Sprintf("Invalid index specified (%d)", index))
		return
	}
	e, file, ok := c.file(&request{cmd: r.cmd, args: raw, has: true})
	if !ok {
		return
	}
	d, t, err := c.lastOf(e)
	if err != nil {
		c.fail(r.cmd, c.unopened(r.cmd, file, err))
		return
	}
	if index >= len(d.Archives) {
		c.fail(r.cmd, "RRD Error: invalid rraindex number")
		return
	}
	a := &d.Archives[index]
	step := d.Step * a.PDPs
	c.slot("0 " + strconv.FormatInt(t-t%step-(a.Rows-1)*step, 10))
}
