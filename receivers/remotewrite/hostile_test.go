package remotewrite_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/golang/snappy"

	"github.com/rondo-db/rondo/receivers/remotewrite"
)

// TestBomb: a request that announces more than it may unpack to is refused before anything is
// unpacked, and one that unpacks to a little less is no bother.
func TestBomb(t *testing.T) {
	r := start(t)
	huge := binary.AppendUvarint(nil, 1<<30)
	huge = append(huge, bytes.Repeat([]byte{0xfe, 1, 0}, 1<<20/3)...) // copies of 64 bytes each
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		r.answer(r.Do(post(t, r.URL(), huge)), 400, "unpacks to 1073741824 bytes")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 200<<20 { // the bodies are read ten times, and grow by doubling
		t.Errorf("%d bytes are allocated for ten requests of 1 MiB", n)
	}
	zeros := snappy.Encode(nil, make([]byte, 32<<20))
	if a := r.Do(post(t, r.URL(), zeros)); a.Status != 400 {
		t.Errorf("32 MiB of zeros: %d %s", a.Status, a.Text)
	}
	if a := r.Do(post(t, r.URL(), snappy.Encode(nil, make([]byte, 32<<20+1)))); a.Status != 400 {
		t.Errorf("a byte more: %d %s", a.Status, a.Text)
	}
	// A great many series without labels, which take the most memory of a byte.
	if a := r.Do(post(t, r.URL(), snappy.Encode(nil, bytes.Repeat([]byte{0x0a, 0}, 1<<20)))); a.Status != 204 && a.Status != 400 {
		t.Errorf("a million empty series: %d %s", a.Status, a.Text)
	}
	r.send(204, "", ts("up", sample(0, 1)))
}

// TestNative: native histograms are refused by name, exemplars are counted, and samples beside them
// are stored.
func TestNative(t *testing.T) {
	r := start(t)
	label := func(name, value string) []byte {
		return append(append([]byte{0x0a, byte(len(name))}, name...), append([]byte{0x12, byte(len(value))}, value...)...)
	}
	series := func(fields ...[]byte) []byte {
		b := bytes.Join(fields, nil)
		return append([]byte{0x0a, byte(len(b))}, b...)
	}
	field := func(tag byte, b []byte) []byte { return append([]byte{tag, byte(len(b))}, b...) }
	name := field(0x0a, label("__name__", "latency"))
	good := remotewrite.AppendRequest(nil, []remotewrite.TimeSeries{ts("up", sample(0, 1))}, nil)
	a := r.Do(post(t, r.URL(), snappy.Encode(nil, append(series(name, field(0x22, []byte{0x08, 1})), good...))))
	r.answer(a, 400, "latency: native histograms are not stored")
	if n := len(r.samples("prometheus/-/-/up")); n != 1 {
		t.Errorf("%d good samples are stored, want 1", n)
	}
	a = r.Do(post(t, r.URL(), snappy.Encode(nil, series(name, field(0x1a, []byte{})))))
	r.answer(a, 204, "")
	if n := len(r.Recorder.Series()); n != 1 {
		t.Errorf("%d series, want 1", n)
	}
}
