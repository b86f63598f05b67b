package rrdcached

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

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

// flushSeries stores the samples of a series that the reorder window holds back.
func (c *conn) flushSeries(cmd *command, e *alias, file string) {
	if c.s.o.Held {
		c.drain()
		if err := c.s.o.Store.Flush(c.s.life, []core.Ref{e.ref}); err != nil {
			c.fail(cmd, explain(err))
			return
		}
	}
	c.slot("0 Successfully flushed " + file + ".")
}

// flushAll stores the samples of all series that the reorder window holds back, and then answers.
func (c *conn) flushAll(cmd *command) {
	if c.s.o.Held {
		c.drain()
		if err := c.s.letAllGo(); err != nil {
			c.fail(cmd, explain(err))
			return
		}
	}
	c.slot("0 Started flush.")
}

// letAllGo stores the samples of all series that the reorder window holds back. A pass goes through
// all series, so all callers that arrive during one pass share the next.
func (s *Server) letAllGo() error {
	begun := s.passes.Load()
	s.letGo.Lock()
	defer s.letGo.Unlock()
	if s.passes.Load() > begun { // another caller's pass has begun after this call, and has ended
		return s.passErr
	}
	s.passes.Add(1)
	s.passErr = s.pass()
	return s.passErr
}

// pass goes through all series once.
func (s *Server) pass() error {
	const many = 1024
	var refs []core.Ref
	for series, err := range s.o.Store.Select(s.life, core.Query{Order: core.ByPath}) {
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

// listBytes is how many bytes of a list are kept while it is counted. A longer list is read twice.
const listBytes = 1 << 20

// list shows the series of a directory. The answer begins with their number. If the list is too
// long to keep, it is read once to count it, and again to send so many lines.
func (c *conn) list(r *request) {
	word, ok := r.next()
	recursive := ok && string(word) == "RECURSIVE"
	if recursive {
		word, ok = r.next()
	}
	if !ok || !recursive && !strings.HasPrefix(string(word), "/") {
		c.usage(r.cmd)
		return
	}
	name := c.s.names.base + string(word)
	dir, err := rrdtool.Path("", "", string(word))
	if err != nil {
		c.fail(r.cmd, "List "+name+": Permission denied")
		return
	}
	var kept []byte
	n := 0
	for entry, err := range c.entries(dir, recursive) {
		if err != nil {
			c.fail(r.cmd, "List "+name+": "+explain(err))
			return
		}
		n++
		if len(kept) < listBytes {
			kept = append(append(kept, entry...), '\n')
		}
	}
	if n == 0 && dir != "" {
		c.fail(r.cmd, "List "+name+": No such file or directory")
		return
	}
	c.out = fmt.Appendf(c.out, "%d RRDs\n", n)
	if len(kept) < listBytes {
		c.out = append(c.out, kept...)
		return
	}
	for entry, err := range c.entries(dir, recursive) {
		if err != nil || n == 0 {
			break
		}
		n--
		c.out = append(append(c.out, entry...), '\n')
		if len(c.out) >= answerBytes && c.flush() != nil {
			return
		}
	}
	if n > 0 {
		c.closing = true // series were dropped meanwhile, so there are fewer lines than announced
	}
}

// entries yields what LIST shows of a directory, in the order of paths. A series lists itself.
func (c *conn) entries(dir string, recursive bool) iter.Seq2[string, error] {
	store, own := core.Simple{Engine: c.s.o.Store}, c.s.o.Own
	return func(yield func(string, error) bool) {
		folder := dir
		if dir != "" {
			if there, err := rrdtool.IsSeries(store, dir); there || err != nil {
				yield(dir[strings.LastIndexByte(dir, '/')+1:], err)
				return
			}
			folder += "/"
		}
		for entry, err := range rrdtool.Entries(c.s.life, store, folder, recursive) {
			first, _, _ := strings.Cut(entry, "/")
			if dir == "" && own != "" && first == own && err == nil {
				continue
			}
			if !yield(oneLine(strings.TrimSuffix(entry, "/")), err) {
				return
			}
		}
	}
}
