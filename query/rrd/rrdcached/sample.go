package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"bytes"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// fill reads samples of e into the current slot.
func (g *burst) fill(e *alias, r request) {
	s := &g.slots[g.cur]
	s.e = e
	for r.has {
		if g.plain(s.e.kinds, &r) {
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

// plain reads a word that is whole seconds and plain readings (see [rra.ScanReading]) of all data
// sources. If the next word is anything else, plain returns false and changes nothing.
func (g *burst) plain(kinds []rra.Kind, r *request) bool {
	b := r.args
	i := len(g.second)
	when := g.when
	// parse the time unless it is the same text as in the sample before
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
	g.values = g.values[:0]
	for _, k := range kinds {
		if i == len(b) || b[i] != ':' {
			return false
		}
		v, n := rra.ScanReading(k, b[i+1:])
		if n == 0 {
			return false
		}
		g.values = append(g.values, v)
		i += 1 + n
	}
	switch {
	case i == len(b):
		r.args, r.has = nil, false
	case b[i] == ' ':
		r.args = b[i+1:]
	default:
		return false
	}
	g.batch.Add(g.slots[g.cur].e.ref, when, g.values...)
	g.own()
	return true
}

// maxText is the longest text of a value that the store accepts, in bytes.
const maxText = 4096

// sample reads one sample, TIME:VALUE[:VALUE…].
func (g *burst) sample(kinds []rra.Kind, word []byte) error {
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
			return tooMany(text)
		}
		if len(text) > maxText {
			return fmt.Errorf("a value of %d characters is too long", len(text))
		}
		g.values = append(g.values, rra.ParseReading(kinds[len(g.values)], text, &g.texts))
	}
	if len(g.values) < len(kinds) {
		return tooFew(len(kinds), len(g.values), when)
	}
	if sec != math.Floor(sec) || sec < 0 {
		g.exact = append(g.exact, exactTime{g.batch.Len(), sec})
	}
	g.batch.AddText(g.slots[g.cur].e.ref, at, g.values, g.texts)
	g.own()
	return nil
}

func noTime(word []byte) error { return fmt.Errorf("Cannot find timestamp in '%s'!", word) }

// tooMany is the error of a sample with more readings than its series has data sources; text is
// the first of those.
func tooMany(text []byte) error { return fmt.Errorf("found extra data on update argument: %s", text) }

// tooFew is the error of a sample of some time with fewer readings than its series has data
// sources.
func tooFew(want, got int, when []byte) error {
	return fmt.Errorf("expected %d data source readings (got %d) from %s", want, got, when)
}
