package rrdcached

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// FuzzLine takes a line apart, and reads it as samples of a series of two data sources. Both ways
// of reading samples must agree, and neither may allocate out of proportion to the line.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		"UPDATE a.rrd 1000000000:1:2",
		"update a\\ b.rrd 1000000000.5:U:-3.25 1000000001:1e3:nan", // blanks in a name, text values
		"BATCH", ".", "", " ", "\\", "PING \\", // words that are none
		"UPDATE a 1:2:3 1:2 1:2:3:4 x 1e400:1:2 -5:1:2 99999999999:1:2",   // counts and times that do not fit
		"FETCH a AVERAGE -100 0x10 ds0  ds1 ",                             // empty words
		"UPDATE a 1000000000:5.10:0005 1000000000:1@2:3 \x00 1:1:1",       // not canonical, at-style, a zero byte
		"CREATE a -b 1000000000 -s 10 -O DS:x:GAUGE:1:U:U RRA:LAST:0:1:1", // the longest grammar
	} {
		f.Add([]byte(seed))
	}
	kinds := [][]rra.Kind{{rra.Gauge}, {rra.Counter, rra.Gauge}}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) > MaxLine || bytes.IndexByte(line, '\n') >= 0 {
			t.Skip("no line")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, ok := parseRequest(line)
		if !ok {
			return
		}
		words := r.words()
		size := 0
		for _, w := range words {
			size += len(w) + 1
			if again, rest, more, ok := wire.CutWord([]byte(wire.Escape(w))); !ok || more || len(rest) > 0 || string(wire.Unescape(again)) != w {
				t.Errorf("%q is not read as it is written", w)
			}
		}
		if size > len(line)+1 {
			t.Errorf("%d bytes of words of a line of %d", size, len(line))
		}
		_, _ = createArgs(words)
		for _, k := range kinds {
			r, _ := parseRequest(line)
			fast, slow := filled(k, r, false), filled(k, r, true)
			if fast.slots[0].answer != slow.slots[0].answer || fast.batch.Len() != slow.batch.Len() || fast.slots[0].stored != slow.slots[0].stored {
				t.Errorf("%v: read two ways: %q and %q, %d and %d samples", k, fast.slots[0].answer, slow.slots[0].answer, fast.batch.Len(), slow.batch.Len())
			}
			if a, b := samplesOf(fast), samplesOf(slow); a != b {
				t.Errorf("%v: read two ways:\n%s\n%s", k, a, b)
			}
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10+400*uint64(len(line)) {
			t.Errorf("%d bytes allocated for a line of %d", n, len(line))
		}
	})
}

// filled reads samples of a series of some kinds: word by word, if slowly.
func filled(kinds []rra.Kind, r request, slowly bool) *burst {
	g := new(burst)
	g.reset()
	g.slots = append(g.slots, slot{number: -1})
	e := &alias{raw: "a", ref: 1 << 32, kinds: kinds}
	if !slowly {
		g.fill(e, r)
		return g
	}
	s := &g.slots[0]
	s.e = e
	for r.has {
		raw, ok := r.nextRaw()
		if !ok {
			break
		}
		if whole := wire.UntilZero(raw); len(whole) < len(raw) {
			raw, r.has = whole, false
		}
		if err := g.sample(kinds, wire.Unescape(raw)); err != nil {
			s.answer = failure(err.Error())
			return g
		}
	}
	if s.stored == 0 {
		s.answer = failure("No values updated.")
	}
	return g
}

func samplesOf(g *burst) string {
	var b strings.Builder
	for x := range g.batch.All() {
		fmt.Fprintf(&b, "%v", x.At)
		for _, v := range x.Values {
			text := ""
			if v.Tag == rra.TagText || v.Tag == rra.TagInvalid {
				text = x.Texts[v.Bits]
			} else {
				text = rra.FormatReading(v, nil)
			}
			fmt.Fprintf(&b, ":%q", text)
		}
		b.WriteByte(' ')
	}
	return b.String()
}
