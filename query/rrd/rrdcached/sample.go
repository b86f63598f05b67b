package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/numeral"
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

// leadingInt reads the number that a text begins with, as C's atoi does. It returns 0 for a text
// that begins with anything else. A number that does not fit becomes -1 or 0, as in glibc on 64
// bits.
func leadingInt(text []byte) int {
	n, _, overflow := numeral.Scan(text, 10)
	if overflow && n > 0 {
		return -1
	}
	return int(int32(n))
}

// errTime says that a text is not a time.
var errTime = errors.New("is no time")

// parseTime reads a time as rrdtool reads a number. sec is the number before it is rounded to
// microseconds.
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
		return -core.MaxTime, sec, nil // earlier than every sample
	}
	return rra.Seconds(int64(whole)) + rra.Time((sec-whole)*1e6), sec, nil
}

// firstSecond is the earliest start of a series: about 1980.
const firstSecond = 10 * 365 * 24 * 60 * 60

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

// A series that is altered or overwritten gets another reference. Samples that were submitted for
// the former reference are refused by the store, and then stored under the new one.

// storeAgain stores the samples of requests whose series has ended. It repeats that up to maxAgain
// times, for series that are altered again and again.
func (c *conn) storeAgain(g *burst, ended []int32) {
	for range maxAgain {
		if len(ended) == 0 {
			return
		}
		ended = c.again(g, ended)
	}
	for _, i := range ended {
		g.slots[i].answer = failure(core.ErrNotFound.Error())
	}
}

// again stores the samples of requests whose series has ended in the series that have their names
// now. It returns the requests whose series has ended once more, each once, in order.
func (c *conn) again(g *burst, ended []int32) (more []int32) {
	b, owner := g.batchOf(c.lookAgain(g, ended))
	if err := core.Append(c.s.life, c.s.o.Store, b); err != nil {
		return g.refuse(err, owner, nil)
	}
	return nil
}

// lookAgain looks up the names of requests whose series has ended. It returns the slots of the
// requests that have a series again, and answers the others.
func (c *conn) lookAgain(g *burst, ended []int32) (found map[int32]struct{}) {
	found = make(map[int32]struct{})
	type outcome struct {
		e   *alias
		err error
	}
	now := make(map[string]outcome) // by name
	for _, i := range slices.Compact(ended) {
		s := &g.slots[i]
		x, asked := now[s.e.raw]
		if !asked {
			c.s.cache.drop(s.e)
			x.e, x.err = c.s.lookup([]byte(s.e.raw))
			now[s.e.raw] = x
		}
		if x.err != nil {
			s.answer = failure(c.s.noFile(wire.Unescape([]byte(s.e.raw)), x.err))
			continue
		}
		s.e = x.e
		found[i] = struct{}{}
	}
	return found
}

// batchOf returns a batch of the samples of some slots, for the series that the slots have now,
// and the slot of each sample. It answers the slots whose samples do not fit these series.
func (g *burst) batchOf(slots map[int32]struct{}) (b *core.Batch, owner []int32) {
	b = &core.Batch{Rejections: maxSamples}
	n := -1
	for x := range g.batch.All() {
		n++
		i := g.owner[n]
		if _, ok := slots[i]; !ok {
			continue
		}
		s := &g.slots[i]
		values, texts, err := reread(&x, s.e.kinds)
		if err != nil {
			s.answer = failure(err.Error())
			delete(slots, i)
			continue
		}
		b.AddText(s.e.ref, x.At, values, texts)
		if len(owner) > 0 && owner[len(owner)-1] == i {
			b.Follow()
		}
		owner = append(owner, i)
	}
	return b, owner
}

// reread reads the readings of a sample, which were read for data sources of the former series,
// anew for data sources of some kinds: from their texts, which the readings still have.
func reread(x *core.BatchSample, kinds []rra.Kind) (values []rra.Value, texts []string, err error) {
	for i, v := range x.Values {
		text := []byte(rra.FormatReading(v, x.Texts))
		if v.Tag >= rra.TagText {
			text = []byte(x.Texts[v.Bits]) // all of it
		}
		if i == len(kinds) {
			return nil, nil, tooMany(text)
		}
		values = append(values, rra.ParseReading(kinds[i], text, &texts))
	}
	if len(values) < len(kinds) {
		when := strings.TrimSuffix(strings.TrimRight(seconds(x.At), "0"), ".")
		return nil, nil, tooFew(len(kinds), len(values), []byte(when))
	}
	return values, texts, nil
}
