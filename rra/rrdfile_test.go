package rra

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"
)

// An rrdFile is what a native file of rrdtool on a 64-bit little-endian machine
// holds, as far as the comparison needs it. The layout was learned by looking at
// files: a head of 128 bytes, 120 bytes a data source, 120 an archive, last
// update, 112 bytes a data source, 80 bytes an archive and data source, the
// current rows, the rows.
type rrdFile struct {
	raw        []byte
	lastUpdate Time
	lastDS     []string
	unknown    []int64
	value      []float64
	cdp        [][][10]uint64 // archive, data source
	cur        []int64
	rows       [][]float64 // archive: rows as they lie in the file, data sources side by side
	curOffset  int
}

func readRRD(tb testing.TB, name string) *rrdFile {
	tb.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	f := &rrdFile{raw: raw}
	at := 0
	word := func() uint64 { at += 8; return binary.LittleEndian.Uint64(raw[at-8:]) }
	at = 24
	nds, nrra := int(word()), int(word())
	at = 128 + 120*nds
	size := make([]int, nrra)
	for i := range size {
		size[i] = int(binary.LittleEndian.Uint64(raw[at+24:]))
		at += 120
	}
	sec, usec := int64(word()), int64(word())
	f.lastUpdate = Seconds(sec) + Time(usec)
	for range nds {
		text, _, _ := bytes.Cut(raw[at:at+30], []byte{0})
		f.lastDS = append(f.lastDS, string(text))
		at += 32
		f.unknown = append(f.unknown, int64(word()))
		f.value = append(f.value, math.Float64frombits(word()))
		at += 64
	}
	for range size {
		var cdp [][10]uint64
		for range nds {
			var c [10]uint64
			for i := range c {
				c[i] = word()
			}
			cdp = append(cdp, c)
		}
		f.cdp = append(f.cdp, cdp)
	}
	f.curOffset = at
	for range size {
		f.cur = append(f.cur, int64(word()))
	}
	for _, n := range size {
		rows := make([]float64, n*nds)
		for i := range rows {
			rows[i] = math.Float64frombits(word())
		}
		f.rows = append(f.rows, rows)
	}
	if at != len(raw) {
		tb.Fatalf("%s: %d bytes read of %d", name, at, len(raw))
	}
	return f
}

// zeroCurRows sets every current row of a new file to 0, where rondo begins.
func zeroCurRows(tb testing.TB, name string) {
	tb.Helper()
	f := readRRD(tb, name)
	clear(f.raw[f.curOffset : f.curOffset+8*len(f.cur)])
	if err := os.WriteFile(name, f.raw, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// row returns row i, oldest first, of an archive.
func (f *rrdFile) row(archive, i, ds int) float64 {
	n := len(f.rows[archive]) / len(f.lastDS)
	return f.rows[archive][(int(f.cur[archive])+1+i)%n*len(f.lastDS)+ds]
}

// sameFloat reports whether a and b are the same double; all NaN are one.
func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// A collector gathers the rows of the streams of one series.
type collector struct {
	m    *Machine
	s    State
	rows [][]float64 // archive: row k of data source d at (k%rows)*nds+d
	last []int64     // stream: the last k
	err  error
}

func newCollector(m *Machine, start Time, name string) *collector {
	c := &collector{m: m, s: m.NewState(start)}
	m.SmoothBy(c.s.W, NameHash(name))
	for i := range m.def.Archives {
		a := &m.def.Archives[i]
		rows := make([]float64, int(a.Rows)*len(m.def.Sources))
		for j := range rows {
			rows[j] = math.NaN()
		}
		c.rows = append(c.rows, rows)
	}
	for _, s := range m.Streams() {
		c.last = append(c.last, m.LastUpdate(c.s.W).Unix()/(s.PDPs*m.def.Step))
	}
	return c
}

// add takes runs over and checks that they follow on what was there: rows may
// be left out only before as many as the stream keeps.
func (c *collector) add(runs []Run) {
	nds := len(c.m.def.Sources)
	type progress struct{ last, gap int64 } // the last row; the first after a gap
	seen := make(map[[2]int32]progress)
	for _, r := range runs {
		key := [2]int32{r.Stream, r.DS}
		stream := &c.m.Streams()[r.Stream]
		p, ok := seen[key]
		if !ok {
			p.last = c.last[r.Stream]
		}
		if r.First != p.last+1 {
			p.gap = r.First
		}
		if r.First <= p.last || r.Count < 1 || r.Count > stream.Rows {
			c.err = fmt.Errorf("run %+v after row %d of %d rows", r, p.last, stream.Rows)
			return
		}
		p.last = r.First + r.Count - 1
		seen[key] = p
		for _, a := range stream.Archives {
			n := c.m.def.Archives[a].Rows
			for k := max(r.First, r.First+r.Count-n); k < r.First+r.Count; k++ {
				c.rows[a][int(k%n)*nds+int(r.DS)] = r.Value
			}
		}
	}
	for key, p := range seen {
		if p.gap != 0 && p.last-p.gap+1 < c.m.Streams()[key[0]].Rows {
			c.err = fmt.Errorf("stream %d: rows before %d are left out", key[0], p.gap)
		}
	}
	for key, p := range seen {
		c.last[key[0]] = p.last
	}
}

// row returns row i, oldest first, of an archive.
func (c *collector) row(archive, i, ds int) float64 {
	a := &c.m.def.Archives[archive]
	if c.m.StreamOf(archive) < 0 {
		return c.m.RingRow(&c.s, archive, ds, nil)[i]
	}
	k := c.m.LastUpdate(c.s.W).Unix()/(a.PDPs*c.m.def.Step) + 1 + int64(i)
	return c.rows[archive][int(k%a.Rows)*len(c.m.def.Sources)+ds]
}
