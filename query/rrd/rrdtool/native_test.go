package rrdtool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// A drawer is files in memory.
type drawer fstest.MapFS

func (d drawer) Stat(name string) (fs.FileInfo, error)    { return fstest.MapFS(d).Stat(name) }
func (d drawer) Open(name string) (io.ReadCloser, error)  { return fstest.MapFS(d).Open(name) }
func (drawer) Create(name string) (io.WriteCloser, error) { return nil, fs.ErrPermission }
func (d drawer) put(name string, b []byte)                { d[name] = &fstest.MapFile{Data: b} }

func (d drawer) run(s rrdtool.Store, args []string) answer {
	var out, errs bytes.Buffer
	env := &rrdtool.Env{
		Store: s, Files: d, Stdout: &out, Stderr: &errs, Location: time.UTC,
		Now: func() time.Time { return time.Unix(1_200_000_600, 0) },
	}
	code := rrdtool.Run(context.Background(), env, args)
	return answer{out.String(), errs.String(), code}
}

// native is a file of version 3, and its parts.
func native(t *testing.T) (raw []byte, header int) {
	t.Helper()
	r := newRondo()
	for _, line := range []string{
		"create a.rrd -b 1200000000 -s 10 DS:x:GAUGE:20:0:U DS:y:COMPUTE:x,2,* RRA:AVERAGE:0.5:1:5 RRA:HWPREDICT:6:0.1:0.0035:3 RRA:MAX:0.5:3:4",
		"update a.rrd 1200000010:1 1200000020:2 1200000035:3",
	} {
		if a := r.run(strings.Fields(line)); a.Exit != 0 {
			t.Fatal(a.Stderr)
		}
	}
	ref, err := r.store.Lookup("a.rrd")
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.store.Export(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	f, err := transfer.FileOf(&c)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = f.AppendBinary(nil); err != nil {
		t.Fatal(err)
	}
	return raw, int(rrdfile.HeaderSize(&f.Definition, f.Version))
}

// reading are the verbs that read native files.
func reading(name string) [][]string {
	return [][]string{
		{"info", name},
		{"fetch", name, "AVERAGE", "-s", "1200000000", "-e", "1200000040"},
		{"dump", name},
		{"first", name},
		{"last", name},
		{"lastupdate", name},
		{"xport", "-s", "1200000000", "-e", "1200000040", "DEF:a=" + name + ":x:AVERAGE", "XPORT:a"},
	}
}

// TestNativeVersions: files of the versions before have no microseconds, and info shows their own
// version.
func TestNativeVersions(t *testing.T) {
	raw, header := native(t)
	d := drawer{}
	d.put("3", raw)
	live := bytes.Index(raw, []byte{35, 0x8c, 0x86, 0x47, 0, 0, 0, 0}) // 1200000035
	if live < 0 {
		t.Fatal("no last update")
	}
	for _, version := range []string{"1", "2"} {
		old := slices.Delete(bytes.Clone(raw), live+8, live+16)
		copy(old[4:], "000"+version)
		d.put(version, old)
		for i, args := range reading(version) {
			want, got := d.run(newMemory(), reading("3")[i]), d.run(newMemory(), args)
			want.Stdout = strings.ReplaceAll(want.Stdout, `rrd_version = "0003"`, fmt.Sprintf("rrd_version = %q", "000"+version))
			want.Stdout = strings.ReplaceAll(want.Stdout, fmt.Sprintf("header_size = %d", header), fmt.Sprintf("header_size = %d", header-8))
			want.Stdout = strings.ReplaceAll(want.Stdout, `filename = "3"`, fmt.Sprintf("filename = %q", version))
			if want != got || got.Exit != 0 {
				t.Errorf("%q: (-want +got)\n%s", args, cmp.Diff(want, got))
			}
		}
	}
}

// TestNativeDamage: a damaged file is named in the error, or read as it is; no verb panics.
func TestNativeDamage(t *testing.T) {
	raw, header := native(t)
	r := seedtest.Rand(t)
	d := drawer{}
	check := func(what string) {
		t.Helper()
		for _, args := range reading("x.rrd") {
			if a := d.run(newMemory(), args); a.Exit != 0 && !strings.Contains(a.Stderr, "'x.rrd'") && a.Stdout == "" && args[0] != "fetch" && args[0] != "xport" {
				t.Fatalf("%s: %q: %+v", what, args, a)
			}
		}
	}
	for n := 4; n < len(raw); n += 1 + n/50 {
		d.put("x.rrd", raw[:n])
		for _, args := range reading("x.rrd") {
			if a := d.run(newMemory(), args); a.Exit != 1 || !strings.HasPrefix(a.Stderr, "ERROR: reading 'x.rrd': ") {
				t.Fatalf("%d bytes: %q: %+v", n, args, a)
			}
		}
	}
	for i := 4; i < header; i += 1 + r.IntN(3) {
		b := bytes.Clone(raw)
		b[i] ^= 1 << r.IntN(8)
		d.put("x.rrd", b)
		check(fmt.Sprintf("byte %d", i))
	}
	if _, err := d.Open("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestForeignFiles: a file that is not rrdtool's is not reported as missing.
func TestForeignFiles(t *testing.T) {
	d := make(drawer)
	d.put("jrobin.rrd", []byte("\x00J\x00R\x00o\x00b\x00i\x00n\x00,\x00 "))
	d.put("packed.rrd", []byte("\x1f\x8b\x08\x00"))
	d.put("dump.xml", []byte("<rrd>"))
	for args, want := range map[string]string{
		"info jrobin.rrd":          "'jrobin.rrd' is not an RRD file; it is JRobin's: export it as XML",
		"fetch packed.rrd AVERAGE": "'packed.rrd' is not an RRD file; it is compressed with gzip: unpack it",
		"last dump.xml":            "opening 'dump.xml': No such file or directory",
		"first nothing.rrd":        "opening 'nothing.rrd': No such file or directory",
	} {
		if got := d.run(newMemory(), strings.Fields(args)); got.Stderr != "ERROR: "+want+"\n" || got.Exit != 1 {
			t.Errorf("%s: %+v, want %s", args, got, want)
		}
	}
}
