package rrdfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// fixed makes a file of a definition, full of different values, that depends on nothing else.
func fixed(t testing.TB, step int64, args ...string) *rrdfile.File {
	t.Helper()
	d, err := rra.ParseDefinition(step, args)
	if err != nil {
		t.Fatal(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewState(rra.Seconds(1_000_000_000))
	g := &going{m: m, s: s, rows: make([][]float64, len(d.Archives))}
	for i := range g.rows {
		g.rows[i] = make([]float64, int(d.Archives[i].Rows)*len(d.Sources))
		for j := range g.rows[i] {
			g.rows[i][j] = float64(j) / 4
		}
	}
	for i := range int64(20) {
		var sample strings.Builder
		fmt.Fprintf(&sample, "%d.25", 1_000_000_000+step*i+1)
		for _, ds := range d.Sources {
			if ds.Kind != rra.Compute {
				fmt.Fprintf(&sample, ":%d", 7*i*i%50)
			}
		}
		if err := g.update([]string{sample.String()}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := g.file()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func binaryOf(t testing.TB, f *rrdfile.File) []byte {
	t.Helper()
	b, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var whole = []string{
	"DS:a:GAUGE:20:-5:100", "DS:b:COUNTER:30:U:U", "DS:c:COMPUTE:a,b,-3,+,UN,b,EXC,POP,+",
	"RRA:AVERAGE:0.5:1:6", "RRA:MAX:0.25:6:4", "RRA:LAST:0.5:1:3", "RRA:HWPREDICT:8:0.1:0.2:5",
}

// TestRoundTrip: a file is what was written, and is again what it was when it went through a state.
func TestRoundTrip(t *testing.T) {
	r := seedtest.Rand(t)
	for range 50 {
		f := sample(t, rand.New(rand.NewPCG(r.Uint64(), 11)))
		got, err := rrdfile.Decode(binaryOf(t, f))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, got, sameFloats, noEmpty, cmpopts.IgnoreUnexported(rrdfile.File{})); d != "" {
			t.Fatalf("(-written +read):\n%s", d)
		}
		if int64(len(binaryOf(t, f))) != f.Size() {
			t.Errorf("%d bytes, Size says %d", len(binaryOf(t, f)), f.Size())
		}
		g, err := newGoing(got)
		if err != nil {
			t.Fatal(err)
		}
		back, err := g.file()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(binaryOf(t, back), binaryOf(t, f)) {
			t.Fatalf("after the way through a state: %s", diffBytes(binaryOf(t, f), binaryOf(t, back)))
		}
	}
}

// TestDamage: an error names the field and where it stands.
func TestDamage(t *testing.T) {
	raw := binaryOf(t, fixed(t, 10, whole...))
	const sources, archives = 3, 8
	archiveAt := func(i int) int { return 128 + 120*sources + 120*i }
	live := archiveAt(archives)
	cdps := live + 16 + 112*sources
	long := func(at int, v uint64) func(b []byte) {
		return func(b []byte) { binary.LittleEndian.PutUint64(b[at:], v) }
	}
	text := func(at int, s string) func(b []byte) { return func(b []byte) { copy(b[at:], s) } }
	for _, c := range []struct {
		name   string
		damage func(b []byte)
		want   string
	}{
		{"sources", long(24, 1<<31), "offset 24: ds: 2147483648 data sources in a file of 4840 bytes"},
		{"no source", long(24, 0), "offset 24: ds: 0 data sources in a file of 4840 bytes"},
		{"archives", long(32, 1<<60), "offset 32: rra: 1152921504606846976 archives in a file of 4840 bytes"},
		{"both", func(b []byte) { long(24, 30)(b); long(32, 30)(b) }, "offset 4840: header: the file ends; the header has 82944 bytes"},
		{"step", long(40, 0), "offset 40: step: 0 seconds"},
		{"step", long(40, 1<<63), "offset 40: step: 9223372036854775808 seconds"},
		{"name", text(128, "aaaaaaaaaaaaaaaaaaaa"), "offset 128: ds[0].name: does not end"},
		{"kind", text(148, "GAUG!"), "offset 148: ds[0].type: unknown data acquisition function 'GAUG!'"},
		{"code", text(128+240+40+4, "\x7f"), "offset 412: ds[2].cdef: code 127 is no operator"},
		{"variable", text(128+240+40+2, "\x03"), "offset 410: ds[2].cdef: data source 3 of 3"},
		{"no end", func(b []byte) { clear(b[408:488]) }, "offset 408: ds[2].cdef: does not end"},
		{"cf", text(archiveAt(1), "AVG\x00"), "offset 608: rra[1].cf: unknown consolidation function 'AVG'"},
		{"rows", long(archiveAt(1)+24, 1<<40), "offset 632: rra[1].rows: 1099511627776 rows in a file of 4840 bytes"},
		{"rows", long(archiveAt(1)+24, 100), "offset 4840: rows: the file ends; it should have 7144 bytes"},
		{"pdps", long(archiveAt(1)+32, 0), "offset 640: rra[1].pdp_per_row: 0 primary data points"},
		{"window", long(archiveAt(7)+40+4*8, 29), "offset 1400: rra[7].window_length: 29, at most 28 is possible"},
		{"time", long(live, 1<<60), "offset 1448: last_update: 1152921504606846976 is out of range"},
		{"time", long(live, 1<<63), "offset 1448: last_update: -9223372036854775808 is out of range"},
		{"micro", long(live+8, 1e6), "offset 1456: last_update: 1000000 microseconds"},
		{"reading", text(live+16, "123456789012345678901234567890"), "offset 1464: ds[0].last_ds: does not end"},
		{"current row", long(cdps+80*sources*archives, 6), "offset 3720: rra[0].cur_row: 6 of 6 rows"},
		{"magic", text(0, "RRX"), "is not an RRD file"},
		{"version", text(4, "0006"), "can't handle RRD file version 0006"},
		{"version", text(4, "abcd"), "can't handle RRD file version abcd"},
		{"cookie", long(16, 0), "offset 16: float_cookie: was not written by a machine that is known"},
	} {
		b := bytes.Clone(raw)
		c.damage(b)
		if _, err := rrdfile.Decode(b); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	// The file may be longer, as for rrdtool, but not shorter.
	if _, err := rrdfile.Decode(append(bytes.Clone(raw), "behind"...)); err != nil {
		t.Error(err)
	}
	for n := range raw {
		var format *rrdfile.FormatError
		_, err := rrdfile.Decode(raw[:n])
		if n < 9 && errors.Is(err, rrdfile.ErrNotRRD) {
			continue
		}
		if !errors.As(err, &format) || format.Offset > int64(n) {
			t.Fatalf("%d of %d bytes: %v", n, len(raw), err)
		}
	}
}

// TestFlips: no flipped bit makes reading, or using what was read, panic.
func TestFlips(t *testing.T) {
	f := fixed(t, 10, whole...)
	raw := binaryOf(t, f)
	for i := range rrdfile.HeaderSize(&f.Definition, f.Version) {
		for _, bits := range []byte{1, 0x80} {
			b := bytes.Clone(raw)
			b[i] ^= bits
			use(t, b)
		}
	}
}

// use does with a file whatever can be done.
func use(t *testing.T, b []byte) {
	t.Helper()
	f, err := rrdfile.Decode(b)
	if err != nil {
		return
	}
	// Any outcome is fine but a panic.
	_ = f.WriteXML(discard{}, rrdfile.HeaderNone, nil)
	if m, err := f.Machine(); err == nil {
		if s, err := f.StateOf(m); err == nil {
			if err := m.Check(&s); err != nil {
				t.Errorf("imported: %v", err)
			}
			for i := range m.Streams() {
				f.StreamRows(m, i)
			}
		}
	}
	again, err := f.AppendBinary(nil)
	if err != nil {
		return
	}
	g, err := rrdfile.Decode(again)
	if err != nil {
		t.Errorf("written again: %v", err)
		return
	}
	if last, err := g.AppendBinary(nil); err != nil || !bytes.Equal(last, again) {
		t.Errorf("written for the third time: %v, %s", err, diffBytes(again, last))
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestOpen: files are read from disk, whatever their size, and what is no file is refused.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	small, large := fixed(t, 10, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"), fixed(t, 10, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10000")
	for name, f := range map[string]*rrdfile.File{"small": small, "large": large} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, binaryOf(t, f), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := rrdfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(binaryOf(t, got), binaryOf(t, f)) {
			t.Errorf("%s: read otherwise", name)
		}
	}
	if _, err := rrdfile.Open(filepath.Join(dir, "nosuch")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := rrdfile.Open(dir); !errors.Is(err, rrdfile.ErrNotRRD) {
		t.Error(err)
	}
	// Only the start of a large file that is not rrdtool's is read.
	if _, err := rrdfile.Read(bytes.NewReader(make([]byte, 8192)), 1<<30); !errors.Is(err, rrdfile.ErrNotRRD) {
		t.Error(err)
	}
	if _, err := rrdfile.Read(bytes.NewReader(nil), 1<<40); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	if _, err := rrdfile.Read(bytes.NewReader(nil), 10); err == nil {
		t.Error("a file that ends early: no error")
	}
}

// TestUnwritable: what a native file cannot hold is an error that names the field.
func TestUnwritable(t *testing.T) {
	for _, c := range []struct {
		change func(f *rrdfile.File)
		want   string
	}{
		{func(f *rrdfile.File) { f.Version = 6 }, "rrd_version: 6"},
		{func(f *rrdfile.File) { f.State.Sources[1].LastReading = strings.Repeat("1", 30) }, "ds[1].last_ds: 30 bytes, at most 29 are possible"},
		{func(f *rrdfile.File) { f.Definition.Sources[2].Expr = "a,1.5,*" }, "ds[2].cdef: constants must be integers in the interval (-32768, 32767)"},
		{func(f *rrdfile.File) { f.Definition.Sources[2].Expr = "z,1,*" }, "ds[2].cdef: don't understand 'z,1,*'"},
		{func(f *rrdfile.File) { f.Definition.Sources[2].Expr = strings.Repeat("a,", 20) }, "ds[2].cdef: Maximum 19 RPN nodes permitted. Got 20 RPN nodes at present."},
		{func(f *rrdfile.File) { f.State.Archives[1].Rows = nil }, "rra[1].rows: 0 values for 4 rows"},
		{func(f *rrdfile.File) { f.Definition.Archives[1].Rows = math.MaxInt64 }, "rra[1].rows: 12 values for 9223372036854775807 rows"},
		{func(f *rrdfile.File) { f.State.Archives[1].CurRow = 4 }, "rra[1].cur_row: 4 of 4 rows"},
		{func(f *rrdfile.File) { f.State.Archives[1].CDPs = f.State.Archives[1].CDPs[1:] }, "rra[1].cdp_prep: 2 data sources, not 3"},
		{func(f *rrdfile.File) { f.Definition.Archives[7].Window = 29 }, "rra[7].window_length: 29, at most 28 is possible"},
	} {
		f := fixed(t, 10, whole...)
		c.change(f)
		_, err := f.AppendBinary(nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestUnclear: a data source that is named as an operator can be dumped, but its expression says
// something else then, and is neither written nor taken over.
func TestUnclear(t *testing.T) {
	f := fixed(t, 10, "DS:b:GAUGE:20:U:U", "DS:a:GAUGE:20:U:U", "DS:c:COMPUTE:a,b,+", "RRA:AVERAGE:0.5:1:3")
	raw := binaryOf(t, f)
	copy(raw[128:], "UN\x00")
	f, err := rrdfile.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := f.WriteXML(&b, rrdfile.HeaderNone, nil); err != nil || !strings.Contains(b.String(), "<cdef> a,UN,+ </cdef>") {
		t.Errorf("%v: %s", err, b.String())
	}
	if _, err := f.AppendBinary(nil); err == nil {
		t.Error("written: no error")
	}
	if _, err := f.Machine(); err == nil {
		t.Error("compiled: no error")
	}
}

// TestOwn: archives of one PDP a row that hold other rows than the longest of them have rows of
// their own.
func TestOwn(t *testing.T) {
	f := fixed(t, 10, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:3", "RRA:MAX:0.5:1:9", "RRA:MIN:0.5:2:5", "RRA:LAST:0.5:1:9", "RRA:LAST:0.5:1:5")
	f.State.Archives[3].Rows[0]++      // before what the short ones have
	f.State.Archives[4].Rows[4] = 1e10 // the newest
	m, err := f.Machine()
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	for _, a := range m.Definition().Archives {
		got = append(got, a.Own)
	}
	if want := []bool{false, false, false, true, true}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for i, s := range m.Streams() {
		if rows, _ := f.StreamRows(m, i); len(rows) != int(s.Rows) {
			t.Errorf("stream %d: %d rows, not %d", i, len(rows), s.Rows)
		}
	}
	if f.Definition.Archives[3].Own {
		t.Error("the file was changed")
	}
}
