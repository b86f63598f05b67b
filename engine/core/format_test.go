package core

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/internal/defcode"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
)

// pageExample returns the bytes of a worked example of docs/format.md.
func pageExample(t *testing.T, name string) []byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "<!-- example: "+name+" -->\n\n")
	if !ok {
		t.Fatalf("docs/format.md has no example %q", name)
	}
	text, _, _ := strings.Cut(rest, "\n\n")
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pageStore is the store that the examples of docs/format.md are taken from.
func pageStore(t *testing.T) (*Store, *class) {
	t.Helper()
	d, err := defcode.Decode(pageExample(t, "definition"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{}
	c := newClass(1, m, &s.space, &s.catalogue.defs)
	s.catalogue.defs.Store(&[]*definition{newDefinition(1, m, c)})
	return s, c
}

func TestPageDefinition(t *testing.T) {
	b := pageExample(t, "definition")
	d, err := defcode.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if ds := d.Sources[0]; d.Step != 10 || ds.Name != "v" || ds.Heartbeat != 20 || ds.Min != 0 || !math.IsNaN(ds.Max) {
		t.Errorf("got %+v", d)
	}
	if a := d.Archives[0]; a.CF != rra.Average || a.XFF != 0.5 || a.PDPs != 1 || a.Rows != 360 {
		t.Errorf("got %+v", a)
	}
	if again := defcode.Append(nil, d); !bytes.Equal(again, b) {
		t.Errorf("coded again: %x", again)
	}
}

func TestPageSeries(t *testing.T) {
	s, _ := pageStore(t)
	b := pageExample(t, "series")
	k := refKey(makeRef(1, 0))
	rec, err := s.catalogue.storedRecord(k, b)
	if err != nil {
		body := (&seriesRecord{path: "web1/load.rrd", def: 1, labels: []Label{{Name: "host", Value: "web1"}}}).append(nil)
		t.Fatalf("%v; today it is written as % x", err, record.AppendSum(body, bucketSeries, k))
	}
	if rec.path != "web1/load.rrd" || rec.def != 1 || len(rec.labels) != 1 || rec.labels[0] != (Label{Name: "host", Value: "web1"}) {
		t.Errorf("got %+v", rec)
	}
	if again := record.AppendSum(rec.append(nil), bucketSeries, k); !bytes.Equal(again, b) {
		t.Errorf("coded again: %x", again)
	}
}

func TestPageBlock(t *testing.T) {
	_, c := pageStore(t)
	raw := pageExample(t, "block")
	key := rowblock.Key(nil, 1, 0, 1, 0, 0)
	b, err := rowblock.Open(key, raw)
	if err != nil {
		sg := rowblock.Strip{Column: 1, Skip: 2, Rows: 4, Data: rows.Append(nil, []float64{1, 2, 3, 4}, c.streams[0].PDPs, nil)}
		t.Fatalf("%v; today it is written as % x", err, rowblock.Append(nil, key, []rowblock.Strip{sg}))
	}
	if col, err := b.Column(0); err != nil || len(col) != 0 {
		t.Errorf("column 0: %x, %v", col, err)
	}
	col, err := b.Column(1)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]float64, 8)
	p := rowblock.Target{From: 64, Values: rows, Step: 1}
	if _, err := rowblock.ReadColumn(col, &c.streams[0], 1, &p, nil); err != nil {
		t.Fatal(err)
	}
	want := [8]float64{0, 0, 1, 2, 3, 4, 0, 0}
	if [8]float64(rows) != want {
		t.Errorf("got %v, want %v", rows, want)
	}
}

// TestPageState steps the group of the page and compares its record, then reads the record of the
// page.
func TestPageState(t *testing.T) {
	s, c := pageStore(t)
	b := pageExample(t, "state")
	g := &group{c: c}
	for i := range 2 {
		g.start(i, s.catalogue.definition(1), rra.Seconds(1_000_000_000), nil)
	}
	var batch Batch
	batch.Add(makeRef(1, 0), rra.Seconds(1_000_000_010), rra.Float(1.5))
	batch.Add(makeRef(1, 1), rra.Seconds(1_000_000_010), rra.Int(7))
	g.encReady, g.enc, g.encTag = true, make([]uint64, 2), make([]byte, 2)
	if rec, want := appendRuns(nil, &batch, []run{{g: g, to: 2, top: makeRef(1, 1)}}), pageExample(t, "samples"); !bytes.Equal(rec, want) {
		t.Errorf("samples: %x, the page says %x", rec, want)
	}
	var o outcome
	index := []int32{0, 1}
	st := batch.stretch(0, len(index))
	g.follow(index, st)
	(&shard{}).applySamples(g, st, index, &o)
	g.pos = 3
	if got := endState(g.appendState(nil), g.dir.Clone(len(c.streams)), g.stateKey()); !bytes.Equal(got, b) {
		t.Errorf("state: %x, the page says %x", got, b)
	}
	read := &group{c: c}
	if err := read.decodeState(b); err != nil {
		t.Fatal(err)
	}
	if read.n != 2 || read.pos != 3 || !read.alive(1) || read.ctx[1] != 7 || read.ctxTag[1] != uint8(rra.TagInt) {
		t.Errorf("read %+v", read.arrays)
	}
	if got := read.openRows(nil, 0, 0, int(read.bufN[0]), read.bufBase[0]); len(got) != 1 || got[0] != 1.5 {
		t.Errorf("open rows %v", got)
	}
}

// A record whose copied rows cross a slot is refused: a block of the slot would not parse.
func TestCopiedRowsAcrossSlots(t *testing.T) {
	_, c := pageStore(t)
	st := &c.streams[0]
	data := rows.AppendRun(nil, 1, st.PDPs)
	for k, want := range map[int64]error{st.Slot - 4: nil, st.Slot - 3: record.ErrParse} {
		piece := append(binary.AppendVarint([]byte{0}, k), 4, byte(len(data)))
		x := copied{rows: append(piece, data...)}
		if err := x.checkRows(c.machine); !errors.Is(err, want) {
			t.Errorf("four rows from row %d on, in slots of %d: %v, want %v", k, st.Slot, err, want)
		}
	}
}
