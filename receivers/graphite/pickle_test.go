package graphite_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/graphite"
)

// A capture is a pickle that a Python has made, and the points that carbon takes from it.
type capture struct {
	Name   string
	Pickle string
	Points [][3]any // name, second, value as a text
}

func captures(t testing.TB) []capture {
	t.Helper()
	text, err := os.ReadFile("../../testdata/captures/graphite/pickles.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []capture
	d := json.NewDecoder(bytes.NewReader(text))
	for d.More() {
		var c capture
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func (c capture) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(c.Pickle)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// points returns the points as lines, as unpickled returns them.
func (c capture) points(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, p := range c.Points {
		v, err := strconv.ParseFloat(p[2].(string), 64)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %v %d\n", p[0], v, int64(p[1].(float64)))
	}
	return b.String()
}

// unpickled returns the points of a pickle as lines.
func unpickled(u *graphite.Unpickler, pickle []byte) (points string, bad int, err *receivers.Error) {
	var b strings.Builder
	take := func(p graphite.Point) { fmt.Fprintf(&b, "%s %v %d\n", p.Name, p.Value, p.Time) }
	err = u.Unpickle(pickle, 99, take, func(*receivers.Error) { bad++ })
	return b.String(), bad, err
}

// TestPicklesOfPython: what Python 2.7 and 3.11 make of the same points, by each protocol and each
// implementation, is read as those points.
func TestPicklesOfPython(t *testing.T) {
	var u graphite.Unpickler
	all := captures(t)
	if len(all) < 100 {
		t.Fatalf("%d captures", len(all))
	}
	for _, c := range all {
		got, bad, err := unpickled(&u, c.bytes(t))
		if diff := cmp.Diff(c.points(t), got); diff != "" || bad > 0 || err != nil {
			t.Errorf("%s: %d bad, %v (-want +got):\n%s", c.Name, bad, err, diff)
		}
	}
}

// TestUnpickleRefuses: what is no list of points is refused with its reason, and nothing is run.
func TestUnpickleRefuses(t *testing.T) {
	for _, tt := range []struct {
		pickle string
		reason receivers.Reason
	}{
		{"", receivers.Truncated},
		{".", receivers.Malformed},
		{"]", receivers.Truncated},
		{"K\x01.", receivers.Malformed}, // a number
		{"X\x01\x00\x00\x00a.", receivers.Malformed},
		{"cos\nsystem\n(S'true'\ntR.", receivers.Unsupported},
		{"\x80\x04\x8c\x02os\x8c\x06system\x93.", receivers.Unsupported},
		{"(dp0\n.", receivers.Unsupported},
		{"\x80\x06].", receivers.Unsupported},
		{"X\xff\xff\xff\xffa.", receivers.Truncated},
		{"\x8d\xff\xff\xff\xff\xff\xff\xff\xffa.", receivers.Truncated},
		{"\x8b\xff\xff\xff\xff.", receivers.Truncated},
		{"]r\xff\xff\xff\x7f.", receivers.Limit},
		{"]p999999999999\n.", receivers.Limit},
		{"]pq\n.", receivers.Malformed},
		{"h\x00.", receivers.Malformed},
		{"g5\n.", receivers.Malformed},
		{"\x86.", receivers.Malformed},
		{"t.", receivers.Malformed},
		{"K\x01(a.", receivers.Malformed},
		{"](a.", receivers.Malformed},
		{"K\x01(K\x02e.", receivers.Malformed},
		{"(.", receivers.Malformed},
		{"0.", receivers.Malformed},
		{"2.", receivers.Malformed},
		{"S'a\n.", receivers.Malformed},
		{"S'\\q'\n.", receivers.Malformed},
		{"V\\uZZZZ\n.", receivers.Malformed},
		{"Ione\n.", receivers.Malformed},
		{"F0x1p3\n.", receivers.Malformed},
		{"I1", receivers.Truncated},
		{"G\x00\x00.", receivers.Truncated},
	} {
		var u graphite.Unpickler
		points, _, err := unpickled(&u, []byte(tt.pickle))
		if err == nil || err.Reason != tt.reason || points != "" {
			t.Errorf("%q: %q, %v, want %v", tt.pickle, points, err, tt.reason)
		}
	}
	if err := new(graphite.Unpickler).Unpickle(make([]byte, graphite.MaxPickle+1), 0, nil, nil); err == nil || err.Reason != receivers.Limit {
		t.Errorf("a pickle that is too long: %v", err)
	}
}

// TestUnpickleLeavesOut: items that are no points are left out and reported, the others are taken.
func TestUnpickleLeavesOut(t *testing.T) {
	good := "X\x01\x00\x00\x00aK\x05K\x07\x86\x86"
	for _, item := range []string{
		"N", "]", ")", "K\x01", "X\x01\x00\x00\x00a", "K\x01K\x02K\x03\x86\x86", "X\x01\x00\x00\x00aK\x01\x86",
		"X\x01\x00\x00\x00aK\x01N\x86\x86", "X\x01\x00\x00\x00aNK\x01\x86\x86", "X\x01\x00\x00\x00aK\x01\x85\x86",
		"X\x00\x00\x00\x00K\x01K\x01\x86\x86", "X\x01\x00\x00\x00aK\x01Fnan\n\x86\x86", "X\x01\x00\x00\x00aFinf\nK\x01\x86\x86",
		"X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00b\x86\x86", "T" + "\x01\x10\x00\x00" + strings.Repeat("n", 4097) + "K\x01K\x01\x86\x86",
	} {
		var u graphite.Unpickler
		points, bad, err := unpickled(&u, []byte("]("+good+item+good+"e."))
		if points != "a 7 5\na 7 5\n" || bad != 1 || err != nil {
			t.Errorf("%.40q: %q, %d bad, %v", item, points, bad, err)
		}
	}
}

// TestPickleBombs: small pickles that could take an unpickler much memory, or recurse without end.
func TestPickleBombs(t *testing.T) {
	nested := strings.Repeat("(", 1<<19) + strings.Repeat("t", 1<<19) + "."
	doubled := "(X\x01\x00\x00\x00aq\x00" + "l" + strings.Repeat("q\x00(h\x00h\x00l", 100_000) + "."
	for name, pickle := range map[string]string{
		"nested":  nested[:min(len(nested), graphite.MaxPickle)],
		"doubled": doubled,
		"own":     "]q\x00h\x00a.", // a list in itself
		"lists":   "(" + strings.Repeat("]", graphite.MaxPickle-3) + "l.",
		"memo":    "(" + strings.Repeat("]\x94", graphite.MaxPickle/2-3) + "l.",
		"dup":     "(N" + strings.Repeat("2", graphite.MaxPickle-4) + "l.",
		"puts":    "]" + strings.Repeat("r\x00\x00\x0f\x00", 200_000) + ".",
	} {
		u := new(graphite.Unpickler)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = u.Unpickle([]byte(pickle), 0, func(graphite.Point) {}, func(*receivers.Error) {}) // it may be well formed
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 256*uint64(len(pickle))+1<<20 {
			t.Errorf("%s: %d bytes allocated for %d", name, n, len(pickle))
		}
	}
}

// FuzzUnpickle: no pickle does harm, and none makes more points than it has bytes.
func FuzzUnpickle(f *testing.F) {
	for i, c := range captures(f) {
		if i%7 == 0 {
			f.Add(c.bytes(f))
		}
	}
	f.Add([]byte("cos\nsystem\n(S'true'\ntR."))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		var u graphite.Unpickler
		first, bad, err := unpickled(&u, pickle)
		if strings.Count(first, "\n")+bad > len(pickle) {
			t.Errorf("%d points and %d bad ones of %d bytes", strings.Count(first, "\n"), bad, len(pickle))
		}
		again, badAgain, errAgain := unpickled(&u, pickle)
		if first != again || bad != badAgain || (err == nil) != (errAgain == nil) {
			t.Errorf("read again it has other points:\n%s%s", first, again)
		}
	})
}
