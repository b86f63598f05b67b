package rrdfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

func dump(t testing.TB, f *rrdfile.File, loc *time.Location) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteXML(&b, rrdfile.HeaderDTD, loc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func open(t testing.TB, path string) *rrdfile.File {
	t.Helper()
	f, err := rrdfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestNative: random programs are run by rrdtool up to some update; from its file on by rrdtool and
// by rra, and by rrdtool on a file that rondo wrote.
func TestNative(t *testing.T) {
	r, tool, loc := seedtest.Rand(t), newPeer(t), berlin(t)
	n := seedtest.Programs(25, 5)
	for i := range n {
		p := newProgram(rand.New(rand.NewPCG(r.Uint64(), 5)))
		if !native(t, tool, p, loc) {
			t.Fatalf("program %d: %v\n%v", i, p, p.updates)
		}
	}
	t.Logf("%d programs compared", n)
}

func native(t *testing.T, tool *peer, p *program, loc *time.Location) bool {
	t.Helper()
	name, copied := "p.rrd", "q.rrd"
	tool.must(p.create(name)...)
	turn := p.r.IntN(len(p.updates) + 1)
	for i := range turn {
		_ = p.update(tool, name, i)
	}
	tuned := p.r.IntN(4) == 0
	if tuned {
		p.tune(tool, 4)
	}
	raw, err := os.ReadFile(tool.file(name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := rrdfile.Decode(raw)
	if tuned && err != nil && strings.Contains(err.Error(), "rra: 0 archives") {
		return true // rrdtool crashes at it
	}
	if err != nil {
		t.Error(err)
		return false
	}
	if got, want := dump(t, f, loc), tool.must("dump", name); got != want {
		t.Errorf("dump (-rrdtool +rondo):\n%s", diffLines(want, got))
		return false
	}
	if got, err := f.AppendBinary(nil); err != nil || !bytes.Equal(blank(got), blank(raw)) {
		t.Errorf("written again: %v, %s", err, diffBytes(blank(raw), blank(got)))
		return false
	}
	g, err := newGoing(f)
	if err != nil {
		// tune gives archives of the Holt-Winters family several PDPs a row, or no partner.
		var field *rra.FieldError
		if tuned && errors.As(err, &field) {
			return true
		}
		t.Error(err)
		return false
	}
	back, err := g.file()
	if err != nil {
		t.Error(err)
		return false
	}
	if got, want := dump(t, back, loc), dump(t, kept(f), loc); got != want {
		t.Errorf("dump after the way through a state (-before +after):\n%s", diffLines(want, got))
		return false
	}
	if err := os.WriteFile(tool.file(copied), binaryOf(t, back), 0o600); err != nil {
		t.Error(err)
		return false
	}
	for i := turn; i < len(p.updates); i++ {
		one, two := p.update(tool, name, i), p.update(tool, copied, i)
		if a, b := strings.TrimPrefix(fmt.Sprint(one), name), strings.TrimPrefix(fmt.Sprint(two), copied); a != b {
			t.Errorf("update %v: %v, of rondo's file %v", p.updates[i], one, two)
			return false
		}
		if err := g.update(p.updates[i]); (err != nil) != (one != nil) {
			t.Errorf("update %v: %v, rra says %v", p.updates[i], one, err)
			return false
		}
	}
	a, b := blank(readFile(t, tool.file(name))), blank(readFile(t, tool.file(copied)))
	if !tuned && !bytes.Equal(a, b) {
		t.Errorf("rondo's file after updates: %s", diffBytes(a, b))
		return false
	}
	f = kept(open(t, tool.file(name)))
	if d := cmp.Diff(f, kept(open(t, tool.file(copied))), sameFloats, cmpopts.IgnoreUnexported(rrdfile.File{})); d != "" {
		t.Errorf("rondo's file after updates (-rrdtool +rondo):\n%s", d)
		return false
	}
	if d := cmp.Diff(&f.State, g.snapshot(), sameFloats, noEmpty); d != "" {
		t.Errorf("state after updates (-rrdtool +rondo):\n%s", d)
		return false
	}
	return true
}

// kept returns f as it is after the way through a state, which drops what archives of one PDP a row
// remember: rrdtool never reads it. Files that create and update made hold the same for all of
// them, and nothing is changed.
func kept(f *rrdfile.File) *rrdfile.File {
	first := -1
	for i := range f.Definition.Archives {
		a := &f.Definition.Archives[i]
		if a.CF > rra.Last || a.PDPs != 1 {
			continue
		}
		if first < 0 {
			first = i
		}
		for j := range f.State.Archives[i].CDPs {
			c := &f.State.Archives[first].CDPs[j]
			f.State.Archives[i].CDPs[j] = rra.CDP{Value: math.NaN(), Primary: c.Primary, Secondary: c.Secondary}
		}
	}
	return f
}

var (
	sameFloats = cmp.Comparer(func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
	})
	noEmpty = cmp.Transformer("rows", func(a rra.ArchiveSnapshot) rra.ArchiveSnapshot {
		if a.Rows == nil {
			a.Rows = []float64{}
		}
		return a
	})
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// blank returns a native file of a 64-bit machine without what rrdtool writes and never reads: the
// period of a predictor, and the smoothing window of a file of version 3.
func blank(b []byte) []byte {
	b = bytes.Clone(b)
	if len(b) < 128 {
		return b
	}
	at := 128 + 120*int(binary.LittleEndian.Uint64(b[24:]))
	for range binary.LittleEndian.Uint64(b[32:]) {
		params := b[at+40 : at+120]
		switch cf, _, _ := strings.Cut(string(b[at:at+20]), "\x00"); {
		case cf == "HWPREDICT", cf == "MHWPREDICT":
			clear(params[4*8 : 5*8])
		case (cf == "SEASONAL" || cf == "DEVSEASONAL") && string(b[4:8]) == "0003":
			clear(params[2*8 : 3*8])
		}
		at += 120
	}
	return b
}

func diffBytes(want, got []byte) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i] != got[i] {
			from := i / 8 * 8
			return fmt.Sprintf("offset %d: % x, want % x", from, got[from:min(from+8, len(got))], want[from:min(from+8, len(want))])
		}
	}
	return "the same"
}

// diffLines shows the first lines that differ.
func diffLines(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(b), len(a))
}

// A going is a series that goes on from a file, with its rows.
type going struct {
	m    *rra.Machine
	s    rra.State
	rows [][]float64 // archive: oldest first
}

func newGoing(f *rrdfile.File) (*going, error) {
	m, err := f.Machine()
	if err != nil {
		return nil, err
	}
	g := &going{m: m}
	if g.s, err = f.StateOf(m); err != nil {
		return nil, err
	}
	if err := m.Check(&g.s); err != nil {
		return nil, err
	}
	g.rows = make([][]float64, len(f.Definition.Archives))
	for i := range m.Streams() {
		rows, last := f.StreamRows(m, i)
		s := &m.Streams()[i]
		if want := m.LastUpdate(g.s.W).Unix() / (s.PDPs * m.Definition().Step); last != want || len(rows) != int(s.Rows)*len(f.Definition.Sources) {
			return nil, fmt.Errorf("stream %d: %d values up to row %d, want up to %d", i, len(rows), last, want)
		}
		for _, a := range s.Archives {
			n := int(f.Definition.Archives[a].Rows) * len(f.Definition.Sources)
			g.rows[a] = slices.Clone(rows[len(rows)-n:])
		}
	}
	return g, nil
}

// file is what rondo exports.
func (g *going) file() (*rrdfile.File, error) { return rrdfile.New(g.m, &g.s, g.rows) }

func (g *going) snapshot() *rra.Snapshot {
	x := g.m.Snapshot(&g.s)
	for i := range x.Archives {
		if g.m.StreamOf(i) >= 0 {
			x.Archives[i].Rows = g.rows[i]
		}
	}
	return x
}

// update is one update command.
func (g *going) update(samples []string) error {
	d := g.m.Definition()
	for _, sample := range samples {
		fields := strings.Split(sample, ":")
		seconds, err := rra.ParseNumber(fields[0])
		if err != nil {
			return err
		}
		whole := math.Floor(seconds)
		at := rra.Seconds(int64(whole)) + rra.Time((seconds-whole)*1e6)
		var values []rra.Value
		var texts []string
		fields = fields[1:]
		for i := range d.Sources {
			if d.Sources[i].Kind != rra.Compute {
				v, _ := rra.ParseValue(d.Sources[i].Kind, fields[0], &texts)
				values = append(values, v)
				fields = fields[1:]
			}
		}
		runs, err := g.m.Step(&g.s, at, values, texts, nil)
		if err != nil {
			g.m.AbortUpdate(&g.s)
			return err
		}
		for _, row := range g.m.Rows(runs) {
			g.rows[row.Archive] = append(g.rows[row.Archive][len(d.Sources):], row.Values...)
		}
	}
	g.m.EndUpdate(&g.s)
	return nil
}

// TestPatched: rrdtool and rondo print the same of files in which some words are anything.
func TestPatched(t *testing.T) {
	r, tool, loc := seedtest.Rand(t), newPeer(t), berlin(t)
	n := seedtest.Programs(15, 5)
	for range n {
		p := newProgram(rand.New(rand.NewPCG(r.Uint64(), 8)))
		tool.must(p.create("p.rrd")...)
		for i := range p.updates {
			_ = p.update(tool, "p.rrd", i)
		}
		raw := readFile(t, tool.file("p.rrd"))
		patch(p.r, raw)
		if err := os.WriteFile(tool.file("p.rrd"), raw, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := rrdfile.Decode(raw)
		if err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		if got, want := dump(t, f, loc), tool.must("dump", "p.rrd"); got != want {
			t.Fatalf("%v: dump (-rrdtool +rondo):\n%s", p, diffLines(want, got))
		}
		if got, err := f.AppendBinary(nil); err != nil || !bytes.Equal(blank(got), blank(raw)) {
			t.Fatalf("%v: written again: %v, %s", p, err, diffBytes(blank(raw), blank(got)))
		}
	}
}

// patch sets some words, but not those that rrdtool goes by.
func patch(r *rand.Rand, raw []byte) {
	sources, archives := int(binary.LittleEndian.Uint64(raw[24:])), int(binary.LittleEndian.Uint64(raw[32:]))
	set := func(at int) {
		binary.LittleEndian.PutUint64(raw[at:], pick(r, 0, 1, math.MaxUint64, 1<<63, 0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0000,
			0xfff0_0000_0000_0000, 0x000f_ffff_0000_1234, r.Uint64(), math.Float64bits(r.NormFloat64())))
	}
	at := 128
	for range sources {
		if cString(raw[at+20:at+40]) != "COMPUTE" {
			for i := range 3 {
				if r.IntN(4) == 0 {
					set(at + 40 + 8*i)
				}
			}
		}
		at += 120
	}
	var cfs []string
	for range archives {
		cf := cString(raw[at : at+20])
		cfs = append(cfs, cf)
		doubles, longs := []int{0}, []int{}
		switch cf {
		case "HWPREDICT", "MHWPREDICT":
			doubles, longs = []int{1, 2}, []int{3}
		case "SEASONAL", "DEVSEASONAL":
			doubles, longs = []int{1}, []int{3, 4}
		case "FAILURES":
			doubles, longs = []int{1, 2}, []int{3, 5}
		case "DEVPREDICT":
			doubles, longs = nil, []int{3}
		}
		for _, i := range append(doubles, longs...) {
			if r.IntN(4) == 0 {
				set(at + 40 + 8*i)
			}
		}
		at += 120
	}
	at += 16
	for range sources {
		for i := range 2 {
			if r.IntN(4) == 0 {
				set(at + 32 + 8*i)
			}
		}
		at += 112
	}
	for _, cf := range cfs {
		words := []int{0, 1, 8, 9}
		switch cf {
		case "HWPREDICT", "MHWPREDICT":
			words = []int{2, 3, 4, 5, 6, 7, 8, 9}
		case "SEASONAL", "DEVSEASONAL":
			words = []int{2, 3, 6, 8, 9}
		case "DEVPREDICT":
			words = []int{0, 8, 9}
		case "FAILURES":
			words = []int{8, 9}
			if r.IntN(2) == 0 {
				raw[at] = byte(r.Uint32())
			}
		}
		for range sources {
			for _, i := range words {
				if r.IntN(8) == 0 {
					set(at + 8*i)
				}
			}
			at += 80
		}
	}
	for at += 8 * archives; at < len(raw); at += 8 {
		if r.IntN(10) == 0 {
			set(at)
		}
	}
}
