package rrdd

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addCaptures seeds f with the contents of real writers and of the page.
func addCaptures(f *testing.F, add func(b []byte)) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join(captures, "*.bin"))
	if err != nil || len(names) == 0 {
		f.Fatalf("no captures (%v)", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		add(b)
	}
}

// FuzzDecode: no file crashes a reader, makes it allocate out of proportion, or comes out otherwise
// after it was written again.
func FuzzDecode(f *testing.F) {
	addCaptures(f, func(b []byte) { f.Add(b) })
	f.Add(encode(f, everything(1)))
	f.Add(encode(f, everything(2)))
	f.Add(v2(0, nil, strings.Repeat("[", 1000)))                                    // deeper than it goes
	f.Add(v2(0, nil, `{"datasources": {`+strings.Repeat(`"":{},`, 1000)+`"":{}}}`)) // as many as fit
	known := encode(f, everything(2))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkAllocation(t, b)
		checkRoundTrip(t, b)
		checkAfter(t, known, b)
	})
}

// FuzzText: the same of the JSON behind right checksums.
func FuzzText(f *testing.F) {
	addCaptures(f, func(b []byte) {
		if at := bytes.IndexByte(b, '{'); at >= 0 {
			f.Add(b[at:], []byte("12345678"))
		}
	})
	f.Add([]byte(`{"timestamp": NaN, "datasources": {"\ud83d\ude00": {"value": -Infinity, "value_type": "float", "min": "1e5"}}}`), []byte("1"))
	f.Fuzz(func(t *testing.T, text, values []byte) {
		b := v1(string(text))
		checkAllocation(t, b)
		checkRoundTrip(t, b)
		var d document
		if d.read(2, text, 0, nil) != nil {
			return
		}
		vs := make([]uint64, len(d.sources))
		for i := range vs {
			for _, c := range values[min(8*i, len(values)):min(8*i+8, len(values))] {
				vs[i] = vs[i]<<8 | uint64(c)
			}
		}
		b = v2(math.Float64bits(1.7e9), vs, string(text))
		if _, err := Decode(b); err != nil && !bytes.HasSuffix(text, []byte{0}) {
			t.Errorf("text alone is right, the file is not: %v", err)
		}
		checkAllocation(t, b)
		checkRoundTrip(t, b)
	})
}

// checkAllocation: a reader makes a data source of 17 bytes or more, an error's text, and a copy of
// the file.
func checkAllocation(t *testing.T, b []byte) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = Decode(b) // any outcome is fine
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64*len(b)+64<<10); got > most {
		t.Errorf("decoding %d bytes allocated %d, more than %d", len(b), got, most)
	}
}

func checkRoundTrip(t *testing.T, b []byte) {
	f, err := Decode(b)
	if err != nil {
		return
	}
	again, err := f.Append(nil)
	if err != nil {
		if math.IsNaN(f.Timestamp) || math.IsInf(f.Timestamp, 0) || len(b) > MaxFile/8 {
			return // what is refused to be written
		}
		t.Fatalf("encode: %v", err)
	}
	g, err := Decode(again)
	if err != nil {
		t.Fatalf("encoded again: %v\n%q", err, again)
	}
	if diff := cmp.Diff(texts("p", f), texts("p", g)); diff != "" {
		t.Errorf("encoded again (-was +is):\n%s", diff)
	}
}

// checkAfter: a reader that has read something else before reads b as one that has not, or keeps
// what it has read.
func checkAfter(t *testing.T, known, b []byte) {
	want, wantErr := Decode(b)
	r := new(Reader)
	if updated, err := r.Read(bytes.NewReader(known), int64(len(known))); !updated || err != nil {
		t.Fatal(updated, err)
	}
	before := fmt.Sprint(r.Sources(), r.Timestamp(), r.Generation())
	updated, err := r.Read(bytes.NewReader(b), int64(len(b)))
	switch {
	case updated:
		if wantErr != nil {
			t.Fatalf("alone: %v", wantErr)
		}
		if diff := cmp.Diff(texts("p", want), texts("p", &File{r.version, r.Timestamp(), r.Sources(), r.Values()})); diff != "" {
			t.Errorf("-alone +after another:\n%s", diff)
		}
	case fmt.Sprint(r.Sources(), r.Timestamp(), r.Generation()) != before:
		t.Error("no update, but what was read before has changed")
	case err != nil && wantErr == nil:
		t.Errorf("%v, and alone it is right", err)
	}
}
