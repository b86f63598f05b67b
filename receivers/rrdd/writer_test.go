package rrdd

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/rra"
)

// everything is a file with all that a data source can be.
func everything(version int) *File {
	return &File{
		Version: version, Timestamp: 1700000000.0625,
		Sources: []Source{
			{Name: "zz", Type: Gauge, Min: -inf, Max: inf},
			{Name: "a \"b\\/\x01é😀", Type: Derive, ValueType: Int64, Owner: VM, UUID: "5f6c1a9e-0000-4000-8000-0123456789ab", Description: "a\nb", Units: "°C", Min: 0, Max: 1e300, Default: true, Transform: Inverse},
			{Name: "", Type: Absolute, Owner: SR, UUID: "x", Min: -1.5, Max: inf},
			{Name: "r", Type: Rate, ValueType: Int64, Min: -inf, Max: inf},
			{Name: "t", Type: AbsoluteToRate, Min: -inf, Max: 0.1},
			{Name: "n", Type: Gauge, Min: -inf, Max: inf},
			{Name: "i", Type: Gauge, Min: -inf, Max: inf},
		},
		Values: []rra.Value{
			rra.Float(math.Copysign(0, -1)), rra.Int(math.MinInt64), rra.Float(math.SmallestNonzeroFloat64), rra.Int(1<<53 + 1),
			rra.Float(0.1), rra.Float(math.NaN()), rra.Float(-inf),
		},
	}
}

// TestEncode: what is written is what is read.
func TestEncode(t *testing.T) {
	for _, version := range []int{1, 2} {
		want := everything(version)
		got, err := Decode(encode(t, want))
		if err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		if diff := cmp.Diff(texts("p", want), texts("p", got)); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
	// Values are converted where nothing is lost, and the zero Source has no limits.
	got, err := Decode(encode(t, &File{
		Timestamp: -1, Sources: []Source{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d", ValueType: Int64}},
		Values: []rra.Value{rra.Int(-3), rra.Uint(math.MaxUint64), rra.Unknown, rra.Uint(7)},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Version: 2, Timestamp: -1, Sources: []Source{{Name: "a", Min: -inf, Max: inf}, {Name: "b", Min: -inf, Max: inf}, {Name: "c", Min: -inf, Max: inf}, {Name: "d", ValueType: Int64, Min: -inf, Max: inf}},
		Values: []rra.Value{rra.Float(-3), rra.Float(1 << 64), rra.Float(math.NaN()), rra.Int(7)},
	}
	if diff := cmp.Diff(texts("p", want), texts("p", got)); diff != "" {
		t.Errorf("converted (-want +got):\n%s", diff)
	}
}

func TestEncodeErrors(t *testing.T) {
	one := []rra.Value{rra.Float(1)}
	many := &File{Sources: make([]Source, MaxSources+1), Values: make([]rra.Value, MaxSources+1)}
	for name, f := range map[string]*File{
		"version 3":               {Version: 3},
		"1 values of 2 data":      {Sources: make([]Source, 2), Values: one},
		"10001 data sources":      many,
		"timestamp NaN":           {Timestamp: math.NaN()},
		"timestamp +Inf":          {Timestamp: inf},
		"timestamp 1e-05 has no":  {Timestamp: 1e-5},
		"timestamp 1e+19 has no":  {Timestamp: 1e19},
		`"a" a second time`:       {Sources: []Source{{Name: "a"}, {Name: "a"}}, Values: []rra.Value{rra.Int(1), rra.Int(1)}},
		`"": value is no 64-bit`:  {Sources: []Source{{ValueType: Int64}}, Values: one},
		`"u": value is no 64`:     {Sources: []Source{{Name: "u", ValueType: Int64}}, Values: []rra.Value{rra.Uint(1 << 63)}},
		`value is no number`:      {Sources: make([]Source, 1), Values: []rra.Value{rra.Text(0)}},
		`type: cannot be "unknow`: {Sources: []Source{{Type: 99}}, Values: one},
		`cannot be "vm "`:         {Sources: []Source{{Owner: VM}}, Values: one},
		`cannot be "vm a b"`:      {Sources: []Source{{Owner: VM, UUID: "a b"}}, Values: one},
		`cannot be "host x"`:      {Sources: []Source{{UUID: "x"}}, Values: one},
		"are the limit":           {Sources: []Source{{Description: strings.Repeat("x", MaxFile)}}, Values: one},
	} {
		if b, err := f.Append([]byte("before")); err == nil || !strings.Contains(err.Error(), name) || string(b) != "before" {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
}

// TestWriter: a file is made, rewritten in place or replaced, and made again after it was removed.
func TestWriter(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		t.Run(fmt.Sprintf("atomic=%t", atomic), func(t *testing.T) {
			dir := t.TempDir()
			w := Writer{Path: filepath.Join(dir, "demo"), Atomic: atomic}
			defer func() {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}()
			var before os.FileInfo
			size := int64(0)
			for i, f := range []*File{everything(2), gauge(2, 1), gauge(2, 2), everything(1), gauge(1, 3)} {
				if err := w.Write(f); err != nil {
					t.Fatal(err)
				}
				b, err := os.ReadFile(w.Path)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Decode(b)
				if err != nil {
					t.Fatalf("write %d: %v", i, err)
				}
				if diff := cmp.Diff(texts("demo", f), texts("demo", got)); diff != "" {
					t.Errorf("write %d (-want +got):\n%s", i, diff)
				}
				info, err := os.Stat(w.Path)
				if err != nil {
					t.Fatal(err)
				}
				if before != nil && os.SameFile(before, info) == atomic {
					t.Errorf("write %d: the same file: %t", i, !atomic)
				}
				if want := max(size, int64(len(encode(t, f)))); !atomic && info.Size() != want {
					t.Errorf("write %d: %d bytes, want %d", i, info.Size(), want)
				}
				before, size = info, info.Size()
			}
			if err := os.Remove(w.Path); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(gauge(2, 4)); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || entries[0].Name() != "demo" {
				t.Errorf("in the folder are %v (%v)", entries, err)
			}
			if err := w.Write(&File{Version: 9}); err == nil {
				t.Error("a version 9 was written")
			}
			if b, err := os.ReadFile(w.Path); err != nil || string(b) != string(encode(t, gauge(2, 4))) {
				t.Errorf("after an error the file has changed (%v)", err)
			}
		})
	}
}

// TestWriterRefuses: names that readers pass over, links, and what is no file.
func TestWriterRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".hidden", ".", "..", "/", "link", "missing/demo"} {
		path := name
		if name != "" && name != "/" {
			path = dir + "/" + name
		}
		w := Writer{Path: path}
		if err := w.Write(gauge(2, 1)); err == nil {
			t.Errorf("%q was written", path)
			_ = w.Close() // the test has failed
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "other")); err != nil || string(b) != "precious" {
		t.Errorf("%q (%v)", b, err)
	}
}

// TestWriterReplacesNoDevice gives the writer the name of a link to a device: as root it had made a
// file of the device.
func TestWriterReplacesNoDevice(t *testing.T) {
	name := filepath.Join(t.TempDir(), "device")
	if err := os.Symlink(os.DevNull, name); err != nil {
		t.Fatal(err)
	}
	w := &Writer{Path: name, Atomic: true}
	if err := w.replace([]byte("x")); err == nil {
		t.Error("replaced")
	}
	if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
}
