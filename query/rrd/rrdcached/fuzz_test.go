package rrdcached

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// FuzzLine takes a line apart, and reads it as samples of a series of two data sources. Both ways of reading samples must
// agree, and neither may allocate out of proportion to the line.
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
			if again, rest, more, ok := cutWord([]byte(escape(w))); !ok || more || len(rest) > 0 || string(unescape(again)) != w {
				t.Errorf("%q is not read as it is written", w)
			}
		}
		if size > len(line)+1 {
			t.Errorf("%d bytes of words of a line of %d", size, len(line))
		}
		_, _, _ = createArgs(words, func(name string) string { return name })
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
func filled(kinds []rra.Kind, r request, slowly bool) *group {
	g := new(group)
	g.reset()
	g.slots = append(g.slots, slot{number: -1})
	e := &entry{raw: "a", ref: 1 << 32, kinds: kinds}
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
		if whole := untilZero(raw); len(whole) < len(raw) {
			raw, r.has = whole, false
		}
		if err := g.sample(kinds, unescape(raw)); err != nil {
			s.answer = failure(err.Error())
			return g
		}
	}
	if s.stored == 0 {
		s.answer = failure("No values updated.")
	}
	return g
}

func samplesOf(g *group) string {
	var b strings.Builder
	for x := range g.batch.All() {
		b.WriteString(string(appendSample(nil, core.BatchSample{At: x.At, Values: x.Values, Texts: x.Texts})))
		b.WriteByte(' ')
	}
	return b.String()
}

// FuzzInfo reads what a server says of a series.
func FuzzInfo(f *testing.F) {
	f.Add("step 1 10\nlast_update 1 1000000000\nds[x].index 1 0\nds[x].type 2 GAUGE\nds[x].minimal_heartbeat 1 20\nds[x].min 0 NaN\nds[x].max 0 1e3\n" +
		"ds[x].last_ds 2 U\nds[x].value 0 NaN\nds[x].unknown_sec 1 0\nrra[0].cf 2 AVERAGE\nrra[0].rows 1 10\nrra[0].cur_row 1 3\nrra[0].pdp_per_row 1 1\n" +
		"rra[0].xff 0 0.5\nrra[0].cdp_prep[0].value 0 NaN\nrra[0].cdp_prep[0].unknown_datapoints 1 0")
	f.Add("step 1 10\nlast_update 1 1\nrra[0].cf 2 SEASONAL\nrra[0].rows 1 2000000000") // a ring that no memory holds
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			t.Skip("longer than what is bounded here")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = parseInfo(strings.Split(text, "\n")) // an error is as good
		_, _ = parseTable(strings.Split(text, "\n"))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20+1000*uint64(len(text)) {
			t.Errorf("%d bytes allocated for an answer of %d", n, len(text))
		}
	})
}

// FuzzTable: no answer to FETCH crashes its reader, and what is read has times that can be counted with.
func FuzzTable(f *testing.F) {
	const rows = "\nDSCount: 2\nDSName: x y\n1000000010: 1 -nan\n1000000020: 2.5e+00 inf"
	f.Add("FlushVersion: 1\nStart: 1000000000\nEnd: 1000000020\nStep: 10" + rows)
	f.Add("Start: 0\nEnd: 9223372036854775807\nStep: 4611686018427387903" + rows)
	f.Add("Start: -9223372036854775808\nEnd: 9223372036854775807\nStep: 1\nDSName: x")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := parseTable(strings.Split(text, "\n"))
		if err != nil {
			return
		}
		if n := table.Len(); n < 0 || len(table.Values) != n*len(table.DS) || table.Start > table.End || table.Start+table.Step*int64(n+1) < table.Start {
			t.Errorf("%+v", table)
		}
	})
}
