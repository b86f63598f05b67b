package rrdcached

import (
	"bytes"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// An UPDATE of a series that does not exist waits until all requests that have arrived are parsed,
// so that many series are made at once. Later UPDATEs of the same name wait with it.

// waits reports whether UPDATEs of a name wait for their series.
func (c *conn) waits(raw []byte) bool {
	_, ok := c.waiting[string(raw)]
	return ok
}

// postpone adds an UPDATE to those that wait.
func (c *conn) postpone(raw []byte, r request) {
	c.slot("")
	if c.waiting == nil {
		c.waiting = make(map[string]struct{})
	}
	c.waiting[string(raw)] = struct{}{}
	c.unknown = append(c.unknown, postponed{c.burst.cur, raw, r})
}

// resolve makes the series that UPDATEs wait for, and reads the samples of these UPDATEs.
func (c *conn) resolve() {
	if len(c.unknown) == 0 {
		return
	}
	g := c.burst
	files := c.adoptUnknown()
	var missing []Missing
	asked := make(map[string]int) // by path
	for i := range c.unknown {
		p := &c.unknown[i]
		path, err := c.s.names.path(string(wire.Unescape(p.raw)))
		if _, file := files[path]; file || c.s.o.Make == nil {
			continue
		}
		m, ok := newMissing(p.r)
		if _, again := asked[path]; err != nil || path == "" || !ok || again {
			continue
		}
		m.Path, m.Peer = path, c.peer
		asked[path] = len(missing)
		missing = append(missing, m)
	}
	var errs []error
	if len(missing) > 0 {
		errs = c.s.o.Make(c.s.life, missing)
	}
	for i := range c.unknown {
		p := &c.unknown[i]
		g.cur = p.slot
		e, err := c.s.lookupBy(p.raw, c.s.o.Store.Lookup)
		if err == nil {
			g.fill(e, p.r)
			continue
		}
		name := wire.Unescape(p.raw)
		if path, bad := c.s.names.path(string(name)); bad == nil {
			if k, ok := asked[path]; ok && errs[k] != nil {
				err = errs[k]
			} else if files[path] != nil {
				err = files[path]
			}
		}
		c.counts[cmdUpdate].errors++
		g.slots[p.slot].answer = failure(c.s.noFile(name, err))
	}
	clear(c.unknown)
	clear(c.waiting)
	c.unknown = c.unknown[:0]
}

// adoptUnknown adopts the native files of the names that UPDATEs wait for.
func (c *conn) adoptUnknown() map[string]error {
	if !c.s.o.Adopt {
		return nil
	}
	var paths []string
	for i := range c.unknown {
		if path, err := c.s.names.path(string(wire.Unescape(c.unknown[i].raw))); err == nil && path != "" {
			paths = append(paths, path)
		}
	}
	return c.s.adopt(c.s.life, paths)
}

// newMissing reads the time and the values of an UPDATE's first sample. It returns false if no
// series could store the sample: the series would stay, and refuse what comes before that time.
func newMissing(r request) (Missing, bool) {
	word, ok := r.next()
	if !ok {
		return Missing{}, false
	}
	when, rest, ok := bytes.Cut(word, []byte{':'})
	if !ok {
		return Missing{}, false
	}
	at, _, err := parseTime(when)
	if err != nil || at > core.MaxTime || at < rra.Seconds(firstSecond) {
		return Missing{}, false
	}
	values := 0
	for text := range bytes.SplitSeq(rest, []byte{':'}) {
		var texts []string
		if v, err := rra.ParseValue(rra.Gauge, string(text), &texts); err != nil || v.Tag == rra.TagInvalid {
			return Missing{}, false
		}
		values++
	}
	return Missing{Values: values, Time: at}, true
}
