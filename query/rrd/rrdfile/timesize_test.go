package rrdfile_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// A variant is a file of another machine, and what must be read from it.
type variant struct {
	want *rrdfile.File
	machine
	raw []byte
}

// variants makes the files of all machines and versions that hold f.
func variants(t *testing.T, f *rrdfile.File) (all []variant) {
	t.Helper()
	raw := binaryOf(t, f)
	versions := []int{f.Version}
	if f.Version == 3 {
		versions = []int{1, 2, 3}
	}
	for _, v := range versions {
		want := *f
		want.Version = v
		if v < 3 {
			want.State.LastUpdate = rra.Seconds(f.State.LastUpdate.Unix())
		}
		for _, m := range machines {
			all = append(all, variant{&want, m, translate(raw, m, byte('0'+v))})
		}
	}
	return all
}

// check reads what may be a longer file. It reports whether there was an error. Other content than
// the file's fails the test.
func (v *variant) check(t *testing.T, raw []byte) bool {
	t.Helper()
	got, err := rrdfile.Decode(raw)
	if err != nil {
		return false
	}
	if bytes.Equal(binaryOf(t, got), binaryOf(t, v.want)) {
		return true
	}
	t.Fatalf("%s, version %d, %d bytes behind the last row (-want +got):\n%s", v.name, v.want.Version, len(raw)-len(v.raw),
		cmp.Diff(v.want, got, sameFloats, noEmpty, cmpopts.IgnoreUnexported(rrdfile.File{})))
	return false
}

// behind returns n bytes of some kind.
func behind(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	switch r.IntN(3) {
	case 0:
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	case 1:
		for i := range b {
			b[i] = 0xff
		}
	}
	return b
}

// TestBytesBehindTheLastRow: a file of any machine may be longer than its rows, by as much as its
// layout differs from another one, too.
func TestBytesBehindTheLastRow(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 1))
	for range 6 {
		f := sample(t, r)
		for i := range f.State.Sources {
			f.State.Sources[i].LastReading = pick(r, "4", "44", "123", "1234", "12423", "U", "UNKN", "1.5", "1e-300",
				strings.Repeat("9", 22), strings.Repeat("9", 26), "-17."+strings.Repeat("3", 25))
		}
		for _, v := range variants(t, f) {
			for n := range 65 {
				if !v.check(t, append(bytes.Clone(v.raw), behind(r, n)...)) {
					_, err := rrdfile.Decode(append(bytes.Clone(v.raw), make([]byte, n)...))
					t.Fatalf("%s, version %d, %d bytes behind the last row: %v", v.name, v.want.Version, n, err)
				}
			}
		}
	}
}

// TestCutOff: a file that lacks bytes is an error, whatever layout the rest has the size of.
func TestCutOff(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 2))
	for range 2 {
		for _, v := range variants(t, sample(t, r)) {
			for n := range v.raw {
				if _, err := rrdfile.Decode(v.raw[:n]); err == nil {
					t.Fatalf("%s, version %d: %d of %d bytes: no error", v.name, v.want.Version, n, len(v.raw))
				}
			}
		}
	}
}

// TestOddContent: readings that rrdtool seldom or never writes may make a layout unclear. Then the
// file is refused, and never read in another layout.
func TestOddContent(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 3))
	refused, read := 0, 0
	for range 40 {
		f := sample(t, r)
		for i := range f.State.Sources {
			f.State.Sources[i].LastReading = pick(r, "", "", "4", "é", "größe", "\x01", "\x01\x02\x03", "\t5", "12\x0f", "12\x03", "44")
		}
		// Microseconds whose bytes are a text.
		f.State.LastUpdate = rra.Seconds(f.State.LastUpdate.Unix()) + rra.Time(pick(r, 0, 0x31, 0x3131, 0x3234, 1, 999_999, r.Int64N(1e6)))
		for _, v := range variants(t, f) {
			for _, n := range []int{0, 4, 8, 64} {
				if v.check(t, append(bytes.Clone(v.raw), behind(r, n)...)) {
					read++
				} else {
					refused++
				}
			}
		}
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d files were read and %d refused", read, refused)
	}
}

// TestUnclearTimeSize: what fits two layouts says so.
func TestUnclearTimeSize(t *testing.T) {
	f := fixed(t, 10, "DS:a:COUNTER:20:U:U", "RRA:LAST:0.5:1:2")
	f.State.LastUpdate = rra.Seconds(1_000_000_000)
	f.State.Sources[0].LastReading = ""
	for j := range f.State.Archives[0].Rows {
		f.State.Archives[0].Rows[j] = 0
	}
	f.State.Archives[0].CDPs[0] = rra.CDP{}
	f.State.Archives[0].CurRow = 0
	for _, m := range []machine{machines[2], machines[3], machines[4], machines[5]} {
		raw := translate(binaryOf(t, f), m, '3')
		for i, c := range raw { // what is between says nothing
			if c == 0xee {
				raw[i] = 0
			}
		}
		_, err := rrdfile.Decode(append(raw, make([]byte, 8)...))
		if want := "last_update: the file fits times of 32 bits and times of 64 bits"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", m.name, err, want)
		}
	}
}
