package core_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Databases that releases have written, in testdata/databases: format-N.tar.gz is a folder with a
// database of format N and its log, whose end no checkpoint has covered; format-N.txt is what is in
// it. docs/upgrading.md says which of them this program promises to read.
//
//	make databases
//
// writes the ones of this program's format. That is allowed before the first tagged release only.
// Afterwards a new format gets files of its own, beside the old ones.
var writeDatabases = flag.Bool("write-databases", false, "write testdata/databases for the format of this program")

const (
	databasesFolder = "testdata/databases"
	oldestFormat    = 10 // the oldest that this program reads
)

// TestDatabasesOfReleases opens each of the databases, compares all that is in it with the text,
// and goes on with it. A database of a format that this program does not read is refused, and no
// file of it is changed.
func TestDatabasesOfReleases(t *testing.T) {
	current := filepath.Join(databasesFolder, fmt.Sprintf("format-%d", core.FormatVersion))
	if *writeDatabases {
		writeDatabase(t, current)
	}
	all, err := filepath.Glob(filepath.Join(databasesFolder, "*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, name := range all {
		name = strings.TrimSuffix(name, ".tar.gz")
		found = found || name == current
		t.Run(filepath.Base(name), func(t *testing.T) {
			var format int
			if _, err := fmt.Sscanf(filepath.Base(name), "format-%d", &format); err != nil {
				t.Fatal(err)
			}
			if format < oldestFormat {
				refusesFormat(t, unpack(t, name+".tar.gz"), format)
				return
			}
			want, err := os.ReadFile(name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			if got := lifeOf(t, name+".tar.gz"); got != string(want) {
				t.Errorf("what is in the database has changed (before the first tagged release only: make databases):\n%s", firstDifference(got, string(want)))
			}
		})
	}
	if !found {
		t.Errorf("%s.tar.gz is missing: make databases", current)
	}
}

// refusesFormat opens a database whose format this program does not read.
func refusesFormat(t *testing.T, dir string, format int) {
	t.Helper()
	before := databaseFiles(t, dir)
	for _, readOnly := range []bool{false, true} {
		_, err := core.Open(dir, core.Options{ReadOnly: readOnly})
		if says := fmt.Sprintf("format %d, this program reads format %d: written by an older version of rondo", format, core.FormatVersion); !errors.Is(err, core.ErrVersion) || errors.Is(err, core.ErrNewer) || !strings.Contains(err.Error(), says) {
			t.Errorf("opened, read only %v: %v", readOnly, err)
		}
	}
	if after := databaseFiles(t, dir); !maps.Equal(before, after) {
		t.Error("the files of the refused database have changed")
	}
}

// databaseFiles returns what is in the files of a database, without its lock, by their names.
func databaseFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "LOCK" {
			return err
		}
		b, err := os.ReadFile(file)
		out[file] = string(b)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatal(len(out), err)
	}
	return out
}

// writeDatabase writes the two files of a database.
func writeDatabase(t *testing.T, name string) {
	t.Helper()
	dir := zoo(t)
	s := mustOpen(t, dir, core.Options{NoBackground: true, Reorder: 25e9})
	mustClose(t, s.Abandon()) // the end of the log stays
	compacted(t, dir)         // a small file
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, file) // both are absolute
		if err != nil || !e.Type().IsRegular() || rel == "LOCK" {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		err = w.WriteHeader(&tar.Header{Name: filepath.ToSlash(rel), Mode: 0o600, Size: int64(len(b))})
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	})
	if err := errors.Join(err, w.Close(), z.Close(), os.MkdirAll(databasesFolder, 0o755)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, os.WriteFile(name+".tar.gz", out.Bytes(), 0o644))
	mustClose(t, os.WriteFile(name+".txt", []byte(lifeOf(t, name+".tar.gz")), 0o644))
}

// unpack returns a new folder with the files of an archive.
func unpack(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "rondo.db")
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// lifeOf returns what is in a packed database, and what is in it after further samples, a
// checkpoint and another start.
func lifeOf(t *testing.T, name string) string {
	t.Helper()
	dir := unpack(t, name)
	var out strings.Builder
	for _, life := range []string{"as it was", "after further samples"} {
		s := mustOpen(t, dir, core.Options{NoBackground: true, Reorder: 25e9})
		if ps, err := s.Check(t.Context()); err != nil || len(ps) > 0 {
			t.Errorf("%s: check: %v %v", life, ps, err)
		}
		fmt.Fprintf(&out, "# %s\n", life)
		dump(t, &out, s)
		if life == "as it was" {
			goOn(t, s)
			mustClose(t, s.Checkpoint(t.Context()))
		}
		mustClose(t, s.Close())
	}
	return out.String()
}

// goOn appends readings to every series.
func goOn(t *testing.T, s *core.Store) {
	t.Helper()
	var b core.Batch
	for x, err := range s.Select(t.Context(), core.Query{Order: core.ByPath}) {
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(x.Ref)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(20) {
			var values []rra.Value
			for j, src := range info.Definition.Sources {
				if src.Kind != rra.Compute {
					values = append(values, rra.Int(i*i+int64(j)))
				}
			}
			b.Add(x.Ref, rra.Seconds(programStart+6000+10*i), values...)
		}
	}
	mustAppend(t, s, &b)
}

// dump writes everything in a store as text.
func dump(t *testing.T, out *strings.Builder, s *core.Store) {
	t.Helper()
	ctx := t.Context()
	for x, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Export(ctx, x.Ref)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(x.Ref)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "series %q %d, step %d, last update %d", x.Path, uint64(x.Ref), c.Definition.Step, info.Machine.LastUpdate(info.State.W))
		for _, l := range x.Labels {
			fmt.Fprintf(out, ", %s=%q", l.Name, l.Value)
		}
		fmt.Fprintln(out)
		for j, src := range c.Definition.Sources {
			fmt.Fprintf(out, "  %v, last reading %q\n", src, info.Machine.LastReading(&info.State, j))
		}
		for i, a := range c.Definition.Archives {
			fmt.Fprintf(out, "  %v", a)
			if i < len(c.Rows) {
				dumpRows(out, c.Rows[i])
			}
			fmt.Fprintln(out)
		}
		dumpMetadata(t, out, s, x.Path)
	}
	dumpMetadata(t, out, s, "no/series")
	notes, err := s.Notes(ctx, "")
	names, err2 := s.Labels(ctx, core.LabelQuery{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "notes %v\nlabels %v\n", notes, names.Texts)
	for x, err := range s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "host", Value: "h"}}, Order: core.ByRef}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "host=h %q\n", x.Path)
	}
}

// dumpRows writes rows, equal ones once with their number; unknown ones are U.
func dumpRows(out *strings.Builder, rows []float64) {
	for i := 0; i < len(rows); {
		n := 1
		for i+n < len(rows) && sameFloat(rows[i+n], rows[i]) {
			n++
		}
		text := strconv.FormatFloat(rows[i], 'g', -1, 64)
		if math.IsNaN(rows[i]) {
			text = "U"
		}
		if n > 1 {
			text = fmt.Sprint(n, "×", text)
		}
		out.WriteString(" " + text)
		i += n
	}
}

func dumpMetadata(t *testing.T, out *strings.Builder, s *core.Store, path string) {
	t.Helper()
	m, err := s.Metadata(path)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		t.Fatal(err)
	}
	if err == nil && (m.Text != "" || m.Attributes != nil) {
		fmt.Fprintf(out, "  metadata of %q: %d %q %v %d %v\n", path, m.Time, m.Text, m.Attributes, m.Expire, m.Expired)
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%.300s\nand was\n%.300s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, and it were %d", len(a), len(b))
}
