package rrdd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// A manifest says what the captures hold.
type manifest struct {
	Files []struct {
		File, Plugin string
		Expected     expected
	}
}

type expected struct {
	Error     string
	Version   int
	Timestamp float64
	DS        []expectedSource
}

type expectedSource struct {
	Series      string
	Name        string
	Value       any
	ValueType   string `json:"value_type"`
	Type        string
	KindLegacy  string `json:"kind_legacy"`
	KindModern  string `json:"kind_modern"`
	KindAuto    string `json:"kind_auto"`
	Owner       string
	UUID        string
	Units       string
	Description string
	Min, Max    any
	Default     bool
	Transform   string
}

func readManifest(t testing.TB) *manifest {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := new(manifest)
	if err := json.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// bits returns a value as the manifests write it: an integer as a string, a float as a number, or
// its name.
func bits(x any) string {
	switch x := x.(type) {
	case float64:
		return fmt.Sprintf("float %016x", math.Float64bits(x))
	case string:
		if f, err := strconv.ParseFloat(x, 64); err == nil && strings.Trim(x, "-0123456789") != "" {
			if math.IsNaN(f) {
				return "NaN"
			}
			return bits(f)
		}
		return "int " + x
	case rra.Value:
		switch f := math.Float64frombits(x.Bits); {
		case x.Tag == rra.TagInt:
			return fmt.Sprintf("int %d", int64(x.Bits))
		case x.Tag == rra.TagFloat && math.IsNaN(f):
			return "NaN"
		case x.Tag == rra.TagFloat:
			return fmt.Sprintf("float %016x", x.Bits)
		}
	}
	return fmt.Sprintf("%T %v", x, x)
}

var kindNames = map[rra.Kind]string{
	rra.Gauge: "GAUGE", rra.Absolute: "ABSOLUTE", rra.Derive: "DERIVE", rra.DDerive: "DDERIVE",
}

// texts returns all of what a file of a plugin says, in the manifest's words.
func texts(plugin string, f *File) []string {
	out := []string{fmt.Sprintf("version %d, timestamp %016x", f.Version, math.Float64bits(f.Timestamp))}
	for i := range f.Sources {
		s := &f.Sources[i]
		out = append(out, fmt.Sprintf("%q %q %s %s %s, %s or %s or %s, %s %q, %q, %q, %s to %s, %t %s",
			Identify(plugin, s).Path, s.Name, bits(f.Values[i]), s.ValueType, s.Type,
			kindNames[Legacy.Kind(s, f.Sources)], kindNames[Modern.Kind(s, f.Sources)], kindNames[Auto.Kind(s, f.Sources)],
			s.Owner, s.UUID, s.Units, s.Description, bits(s.Min), bits(s.Max), s.Default, s.Transform))
	}
	return out
}

func (e *expected) texts() []string {
	out := []string{fmt.Sprintf("version %d, timestamp %016x", e.Version, math.Float64bits(e.Timestamp))}
	for _, s := range e.DS {
		out = append(out, fmt.Sprintf("%q %q %s %s %s, %s or %s or %s, %s %q, %q, %q, %s to %s, %t %s",
			s.Series, s.Name, bits(s.Value), s.ValueType, s.Type, s.KindLegacy, s.KindModern, s.KindAuto,
			s.Owner, s.UUID, s.Units, s.Description, bits(s.Min), bits(s.Max), s.Default, s.Transform))
	}
	return out
}

// TestCaptures: every capture decodes to what its manifest says, to the bit.
func TestCaptures(t *testing.T) {
	m := readManifest(t)
	if len(m.Files) < 29 {
		t.Errorf("only %d captures", len(m.Files))
	}
	for _, c := range m.Files {
		f, err := Decode(capture(t, c.File))
		if c.Expected.Error != "" {
			var e *receivers.Error
			if !errors.As(err, &e) || e.Reason.String() != c.Expected.Error {
				t.Errorf("%s: %v, want %s", c.File, err, c.Expected.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.File, err)
			continue
		}
		if diff := cmp.Diff(c.Expected.texts(), texts(c.Plugin, f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.File, diff)
		}
		again := encode(t, f)
		g, err := Decode(again)
		if err != nil {
			t.Errorf("%s, encoded again: %v", c.File, err)
			continue
		}
		if diff := cmp.Diff(texts(c.Plugin, f), texts(c.Plugin, g)); diff != "" {
			t.Errorf("%s, encoded again (-want +got):\n%s", c.File, diff)
		}
	}
}

// A counted file counts what is read of it.
type counted struct {
	*bytes.Reader
	reads, bytes int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(p, at)
	c.reads++
	c.bytes += n
	return n, err
}

func open(b []byte) *counted { return &counted{Reader: bytes.NewReader(b)} }

// TestSequences: the contents that one writer's file has one after the other, each read twice: the
// second time there is no update, and no more is read than shows this.
func TestSequences(t *testing.T) {
	for _, files := range [][]string{
		{"v1-rrdd.py-0.bin", "v1-rrdd.py-1.bin", "v1-rrdd.py-2.bin"},
		{"v1-xcp-rrdd-0.bin", "v1-xcp-rrdd-1.bin", "v1-xcp-rrdd-2.bin"},
		{"v2-rrdd.py-0.bin", "v2-rrdd.py-1.bin", "v2-rrdd.py-2.bin", "v2-rrdd.py-3.bin"},
		{"v2-xcp-rrdd-0.bin", "v2-xcp-rrdd-1.bin", "v2-xcp-rrdd-2.bin"},
		{"v2-librrd.0-open.bin", "v2-librrd.1-sample.bin", "v2-librrd.2-sample.bin", "v2-librrd.4-removed.bin"},
		{"v1-page-data_sources.bin", "v2-page-int64-timestamp.bin", "v2-page-lowercase-header.bin"}, // the version changes
		{"v2-rrdd.py-3.bin", "v1-xcp-rrdd-0.bin"},
	} {
		r := new(Reader)
		for _, name := range files {
			b := capture(t, name)
			updated, err := r.Read(bytes.NewReader(b), int64(len(b)))
			if name == "v2-librrd.0-open.bin" {
				if updated || err != nil {
					t.Errorf("%s: %t, %v, want no update", name, updated, err)
				}
				continue
			}
			if !updated || err != nil {
				t.Errorf("%s: %t, %v, want an update", name, updated, err)
				continue
			}
			want, err := Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			got := &File{r.version, r.Timestamp(), r.Sources(), r.Values()}
			if diff := cmp.Diff(texts("demo", want), texts("demo", got)); diff != "" {
				t.Errorf("%s (-alone +in sequence):\n%s", name, diff)
			}
			c := open(b)
			if updated, err := r.Read(c, int64(len(b))); updated || err != nil {
				t.Errorf("%s again: %t, %v, want no update", name, updated, err)
			}
			if most := map[int]int{1: 15 + v1Text, 2: 15}[r.version]; c.bytes > most {
				t.Errorf("%s again: %d bytes were read, want %d at most", name, c.bytes, most)
			}
		}
	}
}

// TestGeneration: it moves on when a data source changes, and not when values do.
func TestGeneration(t *testing.T) {
	r := new(Reader)
	generation := func(name string) uint64 {
		b := capture(t, name)
		if updated, err := r.Read(bytes.NewReader(b), int64(len(b))); !updated || err != nil {
			t.Fatalf("%s: %t, %v", name, updated, err)
		}
		return r.Generation()
	}
	for _, test := range []struct {
		file string
		want uint64
	}{
		{"v2-xcp-rrdd-0.bin", 1},
		{"v2-xcp-rrdd-1.bin", 1}, // the text has changed: it holds the values
		{"v1-xcp-rrdd-2.bin", 1}, // another version says the same
		{"v2-rrdd.py-0.bin", 2},
		{"v2-rrdd.py-1.bin", 2},
		{"v2-rrdd.py-3.bin", 3},
	} {
		if got := generation(test.file); got != test.want {
			t.Errorf("%s: generation %d, want %d", test.file, got, test.want)
		}
	}
}

// TestDamage: no file with any of its bytes changed, or cut at any place, is taken for another.
func TestDamage(t *testing.T) {
	for _, name := range []string{"v1-rate-words.bin", "v2-rrdd.py-3.bin"} {
		b := capture(t, name)
		f, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		want := texts("demo", f)
		for i := range b {
			for bit := range 8 {
				c := bytes.Clone(b)
				c[i] ^= 1 << bit
				if f, err := Decode(c); err == nil && !cmp.Equal(want, texts("demo", f)) {
					t.Errorf("%s: byte %d, bit %d: %v", name, i, bit, texts("demo", f))
				}
			}
			if f, err := Decode(b[:i]); err == nil && !cmp.Equal(want, texts("demo", f)) {
				t.Errorf("%s: cut at %d: %v", name, i, texts("demo", f))
			}
		}
	}
}

// A torn file changes between two reads of it.
type torn struct {
	contents [][]byte
	at       int
}

func (c *torn) ReadAt(p []byte, at int64) (int, error) {
	b := c.contents[min(c.at, len(c.contents)-1)]
	c.at++
	if at >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// TestTorn: a file that is rewritten between the reads of it is not believed, whatever the order.
func TestTorn(t *testing.T) {
	big := func(n int) []byte { // more than is read at first
		f := &File{Timestamp: float64(receivertest.Epoch + n)}
		for i := range 1000 {
			f.Sources = append(f.Sources, Source{Name: fmt.Sprintf("source %d %d", i, n/100), Type: Gauge})
			f.Values = append(f.Values, rra.Float(float64(n)))
		}
		return encode(t, f)
	}
	a, b := big(1), big(2)
	other := big(100) // as many data sources, with other names
	// Half of a header, the values that came after it, and metadata that is still to be written:
	// all sums are right.
	meta := len(a) - bytes.LastIndex(a, []byte(`{"datasources"`)) + 4
	mixed := slices.Concat(other[:v2MetaSum], a[v2MetaSum:v2Time], other[v2Time:len(other)-meta], a[len(a)-meta:])
	if _, err := Decode(mixed); err != nil {
		t.Fatal(err)
	}
	for _, contents := range [][][]byte{
		{a, b, a, a}, {a, a, b}, {a, a, a, b}, {a, b, b, a}, {a, other}, {a, a, other}, {a, a, a, other}, {mixed, mixed, mixed, other},
	} {
		c := &torn{contents: contents}
		f := new(Reader)
		updated, err := f.Read(c, int64(len(a)))
		var e *receivers.Error
		if updated != (err == nil) || err != nil && (!errors.As(err, &e) || e.Reason != receivers.Checksum) {
			t.Errorf("%t, %v, want an update or a wrong checksum", updated, err)
		}
		if err != nil {
			continue
		}
		n := f.Timestamp() - receivertest.Epoch
		for i, v := range f.Values() {
			if v != rra.Float(n) || f.Sources()[i].Name != fmt.Sprintf("source %d %d", i, int(n)/100) {
				t.Fatalf("values of two contents: at %v %q is %v", n, f.Sources()[i].Name, v)
			}
		}
	}
	// A header half new over values half new: the metadata that is known is not theirs.
	r := new(Reader)
	if updated, err := r.Read(bytes.NewReader(a), int64(len(a))); !updated || err != nil {
		t.Fatal(updated, err)
	}
	half := append(append(bytes.Clone(other[:v2MetaSum]), a[v2MetaSum:v2Time]...), other[v2Time:]...)
	if updated, err := r.Read(bytes.NewReader(half), int64(len(half))); updated || err == nil {
		t.Errorf("new values of old metadata: %t, %v", updated, err)
	}
	if r.Sources()[0].Name != "source 0 0" {
		t.Errorf("what was read before is gone: %q", r.Sources()[0].Name)
	}
}
