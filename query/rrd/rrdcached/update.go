package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// UPDATE is read twice as it were: what nearly every line is, a name that is known, whole seconds
// and plain numbers, goes by without allocation, and anything else word by word. Both read words
// one after the other, so that the second can go on where the first met something else.

// isUpdate reports whether a line begins with UPDATE and a blank.
func isUpdate(line []byte) bool {
	const letters, lower = 0x00ff_ffff_ffff_ffff, 0x0000_2020_2020_2020
	const word = 'u' | 'p'<<8 | 'd'<<16 | 'a'<<24 | 't'<<32 | 'e'<<40 | ' '<<48
	return len(line) > 7 && (binary.LittleEndian.Uint64(line)&letters|lower) == word
}

// guess returns the entry of the name that args begin with if it can be had without taking words
// apart.
func (c *conn) guess(args []byte) *entry {
	if c.last != nil {
		if e := c.last.next.Load(); e != nil {
			if n := len(e.raw); len(args) > n && args[n] == ' ' && string(args[:n]) == e.raw && !e.ended.Load() {
				return e
			}
		}
	}
	name, _, ok := bytes.Cut(args, blank)
	if !ok {
		return nil
	}
	return c.follow(c.s.cache.get(name))
}

// follow notes that e was asked for after what was asked for before it.
func (c *conn) follow(e *entry) *entry {
	if e != nil && c.last != nil && c.last.next.Load() != e {
		c.last.next.Store(e)
	}
	return e
}

// update reads the words behind UPDATE into the group.
func (c *conn) update(args []byte) {
	if len(c.unknown) == 0 { // else the name may be one that is being made
		if e := c.guess(args); e != nil {
			c.last = e
			c.samples(e, args[len(e.raw)+1:], true)
			return
		}
	}
	c.updateSlow(args, true)
}

// updateSlow is update for a name that has to be looked up.
func (c *conn) updateSlow(args []byte, has bool) {
	r := request{args: wire.UntilZero(args), has: has}
	raw, ok := r.nextRaw()
	if !ok {
		c.usage(&commands[cmdUpdate])
		return
	}
	if c.waits(raw) {
		c.postpone(raw, r)
		return
	}
	e, err := c.s.lookupBy(raw, c.s.o.Store.Lookup)
	if errors.Is(err, core.ErrNotFound) && (c.s.o.Make != nil || c.s.o.Adopt) && r.has {
		c.postpone(raw, r)
		return
	}
	if err != nil {
		c.fail(&commands[cmdUpdate], c.s.noFile(wire.Unescape(raw), err))
		return
	}
	c.last = c.follow(e)
	c.samples(e, r.args, r.has)
}

// samples reads samples of e into a new slot of the group.
func (c *conn) samples(e *entry, args []byte, has bool) {
	c.inOrder(e)
	c.slot("")
	c.group.fill(e, request{args: args, has: has})
}

// fill reads samples of e for the slot at hand.
func (g *group) fill(e *entry, r request) {
	s := &g.slots[g.cur]
	s.e = e
	for r.has {
		if len(s.e.kinds) == 1 && g.plain(s.e.kinds[0], &r) {
			continue
		}
		raw, ok := r.nextRaw()
		if !ok {
			break
		}
		if whole := wire.UntilZero(raw); len(whole) < len(raw) {
			raw, r.has = whole, false
		}
		if err := g.sample(s.e.kinds, wire.Unescape(raw)); err != nil {
			s.answer = failure(err.Error())
			return
		}
	}
	if s.stored == 0 {
		s.answer = failure("No values updated.")
	}
}

// plain reads a word of whole seconds and one reading of digits. If the next word is anything else
// it returns false, and has done nothing.
func (g *group) plain(k rra.Kind, r *request) bool {
	b := r.args
	i := len(g.second)
	when := g.when
	// another than that of the sample before it
	if i == 0 || i >= len(b) || b[i] != ':' || string(b[:i]) != string(g.second) {
		at := uint64(0)
		for i = 0; i < len(b) && b[i]-'0' <= 9; i++ {
			at = at*10 + uint64(b[i]-'0')
		}
		if i == 0 || i > 11 || i == len(b) || b[i] != ':' {
			return false
		}
		when = rra.Seconds(int64(at))
		g.second, g.when = append(g.second[:0], b[:i]...), when
	}
	text := b[i+1:]
	end := bytes.IndexByte(text, ' ')
	if end >= 0 {
		text = text[:end]
	}
	if v, ok := rra.PlainReading(k, text); ok {
		g.batch.Add(g.slots[g.cur].e.ref, when, v)
	} else if isDecimal(text) {
		g.texts = g.texts[:0]
		g.values = append(g.values[:0], rra.ParseReading(k, text, &g.texts))
		g.batch.AddText(g.slots[g.cur].e.ref, when, g.values, g.texts)
	} else {
		return false
	}
	if end < 0 {
		r.args, r.has = nil, false
	} else {
		r.args = b[i+1+end+1:]
	}
	g.own()
	return true
}

// isDecimal reports whether text has nothing in it that a word of UPDATE could mean otherwise.
func isDecimal(text []byte) bool {
	for _, c := range text {
		if c-'0' > 9 && c != '.' && c != '-' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= rra.LastReading
}

// maxText is the longest text of a value that the store takes.
const maxText = 4096

// sample reads one sample, TIME:VALUE[:VALUE…].
func (g *group) sample(kinds []rra.Kind, word []byte) error {
	when, rest, ok := bytes.Cut(word, []byte{':'})
	if !ok || bytes.IndexByte(rest, '@') >= 0 {
		return noTime(word)
	}
	at, sec, err := parseTime(when)
	if err != nil {
		return noTime(word)
	}
	if at > core.MaxTime || at < -core.MaxTime {
		return fmt.Errorf("time %.6f is later than a series can hold", sec)
	}
	g.values, g.texts = g.values[:0], g.texts[:0]
	for more := true; more; {
		var text []byte
		text, rest, more = bytes.Cut(rest, []byte{':'})
		if len(g.values) == len(kinds) {
			return fmt.Errorf("found extra data on update argument: %s", text)
		}
		if len(text) > maxText {
			return fmt.Errorf("a value of %d characters is too long", len(text))
		}
		g.values = append(g.values, rra.ParseReading(kinds[len(g.values)], text, &g.texts))
	}
	if len(g.values) < len(kinds) {
		return fmt.Errorf("expected %d data source readings (got %d) from %s", len(kinds), len(g.values), when)
	}
	if sec != math.Floor(sec) || sec < 0 {
		g.exact = append(g.exact, exactTime{g.batch.Len(), sec})
	}
	g.batch.AddText(g.slots[g.cur].e.ref, at, g.values, g.texts)
	g.own()
	return nil
}

func noTime(word []byte) error { return fmt.Errorf("Cannot find timestamp in '%s'!", word) }

// errTime says that a text is no time.
var errTime = errors.New("is no time")

// parseTime reads a time as rrdtool reads numbers; sec is that number.
func parseTime(text []byte) (at rra.Time, sec float64, err error) {
	if len(text) == 0 {
		return 0, 0, errTime
	}
	sec, err = rra.ParseNumber(string(text))
	if err != nil || sec != sec || math.IsInf(sec, 0) && !bytes.ContainsAny(text, "0123456789") {
		return 0, 0, errTime
	}
	whole := math.Floor(sec)
	switch {
	case whole >= float64(core.MaxTime)/1e6+1:
		return core.MaxTime + 1, sec, nil
	case whole <= -float64(core.MaxTime)/1e6:
		return -core.MaxTime, sec, nil // before everything
	}
	return rra.Seconds(int64(whole)) + rra.Time((sec-whole)*1e6), sec, nil
}
