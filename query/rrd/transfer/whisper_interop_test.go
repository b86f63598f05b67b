package transfer_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// whisper returns a Python that has Whisper.
func whisper(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import whisper").Run() == nil {
			return name
		}
	}
	rrdtooltest.Lacks(t, "there is no python3 with the module whisper")
	return ""
}

// A whisperArchive is what Whisper reads of an archive.
type whisperArchive struct {
	start, step int64
	values      []float64
}

// whisperArchives reads what testdata/makewhisper.py prints for a file.
func whisperArchives(t *testing.T, from *bytes.Reader) []whisperArchive {
	t.Helper()
	read := func(v any) {
		if err := binary.Read(from, binary.BigEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	var n int64
	read(&n)
	as := make([]whisperArchive, n)
	for i := range as {
		var head [3]int64
		read(&head)
		as[i] = whisperArchive{head[0], head[1], make([]float64, head[2])}
		read(as[i].values)
	}
	return as
}

// TestWhisperOfPeer: the rows of imported files are the points that Whisper reads of them.
func TestWhisperOfPeer(t *testing.T) {
	const files = 1000
	dir := t.TempDir()
	cmd := exec.Command(whisper(t), "-B", "testdata/makewhisper.py", dir, fmt.Sprint(seedtest.One(t)), fmt.Sprint(files))
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, wrong.String())
	}
	var items []transfer.Item
	for i := range files {
		items = append(items, transfer.Item{Path: fmt.Sprint("graphite/", i), Name: filepath.Join(dir, fmt.Sprint(i, ".wsp"))})
	}
	s := enginetest.Open(t)
	done := imported(t, s, transfer.Options{Jobs: 2}, items...)
	from, known := bytes.NewReader(out), 0
	for _, item := range items {
		if r := done[item.Path]; r.Outcome != transfer.Imported {
			t.Fatalf("%s: %v %v", item.Path, r.Outcome, r.Err)
		}
		known += samePoints(t, s, item.Path, whisperArchives(t, from))
	}
	if t.Logf("%d known points", known); from.Len() > 0 || known < 50_000 {
		t.Errorf("%d known points compared, %d bytes left", known, from.Len())
	}
}

// samePoints compares the rows of a series with the points of its file, and returns how many are
// known.
func samePoints(t *testing.T, s *core.Store, path string, archives []whisperArchive) (known int) {
	t.Helper()
	ref, err := s.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(ref)
	if err != nil {
		t.Fatal(err)
	}
	last := info.Machine.LastUpdate(info.State.W).Unix()
	for i, a := range archives {
		later := a.step
		if i == 0 {
			later = 0
		}
		start := a.start + later - a.step
		rows, err := s.Fetch(t.Context(), ref, i, start, start+int64(len(a.values))*a.step)
		if err != nil || len(rows.Values) != len(a.values) {
			t.Fatalf("%s: archive %d: %d rows, want %d: %v", path, i, len(rows.Values), len(a.values), err)
		}
		for j, want := range a.values {
			at := start + int64(j+1)*a.step
			if at > last && i > 0 && at-a.step <= last {
				continue // the open row
			}
			if got := rows.Values[j]; math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
				t.Errorf("%s: archive %d of %d s: the row that ends at %d is %v, want %v", path, i, a.step, at, got, want)
				break
			}
			if want == want {
				known++
			}
		}
	}
	return known
}
