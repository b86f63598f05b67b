package rrdcached

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// quick answers a request that need not wait for the samples before it.
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

func (c *conn) usage(cmd *command) { c.fail(cmd, "Usage: "+cmd.usage) }

// quickFile answers a request about one series that only asks whether it is there.
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
		c.fail(cmd, err.Error())
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

// flushSeries lets go what the reorder window holds of a series.
func (c *conn) flushSeries(cmd *command, e *entry, file string) {
	if c.s.o.Held {
		c.settle()
		if err := c.s.o.Store.Flush(c.s.life, []core.Ref{e.ref}); err != nil {
			c.fail(cmd, err.Error())
			return
		}
	}
	c.slot("0 Successfully flushed " + file + ".")
}

// flushAll lets go what the reorder window holds of all series, and answers when that is stored.
func (c *conn) flushAll(cmd *command) {
	if c.s.o.Held {
		c.settle()
		if err := c.s.letAllGo(); err != nil {
			c.fail(cmd, err.Error())
			return
		}
	}
	c.slot("0 Started flush.")
}

// letAllGo lets go what the reorder window holds of all series, and returns once that is stored. It
// goes through all series, so those who ask while it is at it share one more pass.
func (s *Server) letAllGo() error {
	begun := s.passes.Load()
	s.letGo.Lock()
	defer s.letGo.Unlock()
	if s.passes.Load() > begun { // somebody else's began after this was asked for, and has ended
		return s.passErr
	}
	s.passes.Add(1)
	s.passErr = s.pass()
	return s.passErr
}

// pass lets go what the reorder window holds of all series.
func (s *Server) pass() error {
	const many = 1024
	var refs []core.Ref
	for series, err := range s.o.Store.List(s.life, "", "") {
		if err != nil {
			return err
		}
		if refs = append(refs, series.Ref); len(refs) == many {
			if err := cmp.Or(s.life.Err(), s.o.Store.Flush(s.life, refs)); err != nil {
				return err
			}
			refs = refs[:0]
		}
	}
	return s.o.Store.Flush(s.life, refs)
}

func (c *conn) help(r *request) {
	word, _ := r.next()
	title, lines := shown(findCommand(word))
	c.slot(fmt.Sprintf("%d %s\n%s", len(lines), title, strings.Join(lines, "\n")))
}

// run answers a request once all before it is stored and answered.
func (c *conn) run(r *request) {
	switch r.cmd.id {
	case cmdQuit:
		c.closing = true
	case cmdBatch:
		c.slot("0 Go ahead.  End with dot '.' on its own line.")
		c.settle()
		c.batch = 1
	case cmdEnd:
		c.endBatch()
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

// showStats shows rrdcached's counters, as far as they have a meaning here.
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

// file returns the series that the next word of a request names. If there is none it has answered.
func (c *conn) file(r *request) (e *entry, file string, ok bool) {
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

// unopened says in rrdcached's words why a command did not find a series.
func (c *conn) unopened(cmd *command, file string, err error) string {
	switch {
	case errors.Is(err, errLeaves):
		return file + ": " + err.Error()
	case errors.Is(err, core.ErrNotFound), errors.Is(err, errNoSeries):
		return failed(cmd) + "opening '" + file + "': No such file or directory"
	}
	return failed(cmd) + err.Error()
}

// failed is what rrdcached puts in front of the error of a command.
func failed(cmd *command) string {
	if cmd.id == cmdFetch || cmd.id == cmdFetchBin {
		return "rrd_fetch_r failed: "
	}
	return "RRD Error: "
}

// read calls get with the series of a name. Where that has ended since it was looked up, it is
// looked up again: an altered or overwritten series is another.
func (c *conn) read(e *entry, get func(e *entry) error) error {
	for tries := 0; ; tries++ {
		err := get(e)
		if !errors.Is(err, core.ErrNotFound) || tries == maxAgain {
			return err
		}
		c.s.cache.drop(e)
		if e, err = c.s.lookup([]byte(e.raw)); err != nil {
			return err
		}
	}
}

// info shows the definition and the state of a series.
func (c *conn) info(r *request) {
	e, file, ok := c.file(r)
	if !ok {
		return
	}
	var info core.Info
	err := c.read(e, func(e *entry) (err error) {
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

// lastUpdate shows the time of the last sample, as rrdcached does: down to a whole step.
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
func (c *conn) lastOf(e *entry) (d *rra.Definition, t int64, err error) {
	err = c.read(e, func(e *entry) error {
		last, err := c.s.o.Store.Last(e.ref)
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

// leadingInt reads the number that a text begins with as C's atoi does: 0 where there is none. What
// does not fit becomes -1 or 0, as it does there.
func leadingInt(text []byte) int {
	n, _, overflow := scanInt(text, 10)
	if overflow && n > 0 {
		return -1
	}
	return int(int32(n))
}

// scanInt reads the integer that a text begins with, as C's strtol does; base 0 takes 0x and 0 as
// well. used is 0 if there is none.
func scanInt(text []byte, base int) (v int64, used int, overflow bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || '\t' <= text[i] && text[i] <= '\r') {
		i++
	}
	negative := false
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		negative = text[i] == '-'
		i++
	}
	if base == 0 {
		base = 10
		if i < len(text) && text[i] == '0' {
			base = 8
			if i+2 < len(text) && text[i+1]|0x20 == 'x' && digit(text[i+2]) < 16 {
				base = 16
				i += 2
			}
		}
	}
	start := i
	for ; i < len(text) && digit(text[i]) < base; i++ {
		d := int64(digit(text[i]))
		if v > (math.MaxInt64-d)/int64(base) {
			overflow = true
			continue
		}
		v = v*int64(base) + d
	}
	if i == start {
		return 0, 0, false
	}
	switch {
	case overflow && negative:
		return math.MinInt64, i, true
	case overflow:
		return math.MaxInt64, i, true
	case negative:
		v = -v
	}
	return v, i, false
}

func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}
