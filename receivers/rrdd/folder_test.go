package rrdd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// start starts a stepped receiver of an empty folder; its first turn is over.
func start(t testing.TB, change func(*receivers.Config), between func()) *receivertest.Running {
	t.Helper()
	r := receivertest.Start(t, receivertest.Case{Protocol: protocol(between)}, new(receivertest.Recorder), change)
	rest(r.Receiver)
	return r
}

// option sets an option of the protocol.
func option(f receivers.Flag, value string) func(*receivers.Config) {
	return func(c *receivers.Config) { c.Options = map[string][]string{f.Name: {value}} }
}

// samples returns what has reached the store since the first skipped ones, as texts, in order of
// their paths.
func samples(t testing.TB, r *receivertest.Running, skip int) []string {
	t.Helper()
	want := int(r.Stats().Samples)
	var out []string
	for _, s := range r.UntilSamples(want)[skip:] {
		value := "unknown"
		if s.Values[0] != rra.Unknown {
			value = bits(s.Values[0])
			if s.Values[0].Tag == rra.TagFloat {
				value = fmt.Sprint(math.Float64frombits(s.Values[0].Bits))
			}
		}
		out = append(out, fmt.Sprintf("%s %v %s", s.Path, float64(s.At)/1e6-receivertest.Epoch, value))
	}
	slices.Sort(out)
	return out
}

// drops returns what was counted as dropped.
func drops(r *receivertest.Running) string {
	var out []string
	for reason, n := range r.Stats().Dropped {
		if n > 0 {
			out = append(out, fmt.Sprintf("%v %d", receivers.Reason(reason), n))
		}
	}
	return strings.Join(out, ", ")
}

func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// gauges is a file of plain measurements with the same value.
func gauges(at int, value float64, names ...string) *File {
	f := &File{Timestamp: receivertest.Epoch + float64(at)}
	for _, n := range names {
		f.Sources = append(f.Sources, Source{Name: n, Type: Gauge, Min: -inf, Max: inf})
		f.Values = append(f.Values, rra.Float(value))
	}
	return f
}

// TestFolder: plugins appear, are rewritten, change what they say, vanish and come back.
func TestFolder(t *testing.T) {
	r := start(t, nil, nil)
	dir := r.Addr().String()
	put := func(name string, f *File) { write(t, r.Receiver, name, encode(t, f)) }
	seen := 0
	step := func(what string, want ...string) {
		t.Helper()
		turn(t, r.Receiver)
		got := samples(t, r, seen)
		equal(t, what, want, got)
		seen += len(got)
	}
	step("an empty folder")
	put("one", gauges(0, 1, "a", "b"))
	put(".one", gauges(0, 1, "hidden"))
	step("a plugin", "rrdd/one/host/a 0 1", "rrdd/one/host/b 0 1")
	step("nothing new")
	put("two", gauges(1, 2, "a"))
	step("another", "rrdd/two/host/a 1 2")
	put("one", gauges(2, 3, "b", "c", "a"))
	put("two", gauges(2, 3, "a"))
	step("another order", "rrdd/one/host/a 2 3", "rrdd/one/host/b 2 3", "rrdd/one/host/c 2 3", "rrdd/two/host/a 2 3")
	put("one", gauges(3, 4, "c"))
	step("fewer data sources", "rrdd/one/host/c 3 4")
	if err := os.Remove(filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	step("one is gone")
	if n := r.Stats().Series; n != 1 {
		t.Errorf("%d series are held, want 1", n)
	}
	put("one", gauges(3, 4, "c"))
	step("one is back: nobody knows what it said", "rrdd/one/host/c 3 4")
	// As the atomic writers do it.
	if err := os.WriteFile(filepath.Join(dir, ".new"), encode(t, gauges(4, 5, "c")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	step("another file of the name", "rrdd/one/host/c 4 5")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	step("no folder")
	equal(t, "drops", "failed 1", drops(r))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put("two", gauges(5, 6, "a"))
	step("the folder is back", "rrdd/two/host/a 5 6")
	equal(t, "drops", "failed 1", drops(r))
	if n := len(r.Recorder.Series()); n != 4 {
		t.Errorf("%d series were made, want 4", n)
	}
}

// TestHalfWritten: what does not read is looked at a second time, and counted if it is the same.
func TestHalfWritten(t *testing.T) {
	content := func() []byte { return nil }
	var r *receivertest.Running
	looks := 0
	r = start(t, nil, func() {
		looks++
		if b := content(); b != nil {
			if err := os.WriteFile(filepath.Join(r.Addr().String(), "p"), b, 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	good := func(n int) []byte { return encode(t, gauges(n, float64(n), "a")) }
	bad := func(n int) []byte {
		b := good(n)
		b[v2Values]++
		return b
	}
	for i, test := range []struct {
		name          string
		first, second []byte
		looks         int
		want          []string
		drops         string
	}{
		{"whole", good(0), nil, 0, []string{"rrdd/p/host/a 0 0"}, ""},
		{"half, then whole", bad(1), good(1), 1, []string{"rrdd/p/host/a 1 1"}, ""},
		{"half, then another half", bad(2), bad(3), 1, nil, ""},
		{"the second half again: it has been seen twice", bad(3), nil, 0, nil, "checksum 1"},
		{"whole again", good(4), nil, 0, []string{"rrdd/p/host/a 4 4"}, "checksum 1"},
		{"half for good", bad(5), nil, 1, nil, "checksum 2"},
		{"cut off, then whole", good(6)[:20], good(6), 1, []string{"rrdd/p/host/a 6 6"}, "checksum 2"},
		{"empty for good", nil, []byte{}, 1, nil, "truncated 1, checksum 2"},
		{"the header of another, then whole", append(good(7)[:23:23], good(8)[23:]...), good(8), 1, []string{"rrdd/p/host/a 8 8"}, "truncated 1, checksum 2"},
		{"what it said before", good(8), nil, 0, nil, "truncated 1, checksum 2"},
	} {
		seen, before := len(r.Recorder.Samples()), looks
		content = func() []byte { return test.second }
		write(t, r.Receiver, "p", test.first)
		turn(t, r.Receiver)
		equal(t, test.name, test.want, samples(t, r, seen))
		equal(t, test.name+": drops", test.drops, drops(r))
		if looks != before+test.looks {
			t.Errorf("%d, %s: %d second looks, want %d", i, test.name, looks-before, test.looks)
		}
	}
}

// TestBackOff: a file that stays wrong is read at ever fewer turns, and at once when it changes.
func TestBackOff(t *testing.T) {
	r := start(t, nil, nil)
	bad := encode(t, gauges(0, 0, "a"))
	bad[v2Values]++
	write(t, r.Receiver, "p", bad)
	counted := func() uint64 { return r.Stats().Dropped[receivers.Checksum] }
	var turns []int
	for n := 1; n <= 260; n++ {
		before := counted()
		turn(t, r.Receiver)
		if counted() > before {
			turns = append(turns, n)
		}
	}
	equal(t, "turns in which it was read", []int{1, 2, 3, 5, 9, 17, 33, 65, 129, 193, 257}, turns)
	turn(t, r.Receiver)
	other := encode(t, gauges(1, 0, "a"))
	other[v2Values]++
	write(t, r.Receiver, "p", other)
	before := counted()
	for range 3 {
		turn(t, r.Receiver)
	}
	if n := counted() - before; n != 3 {
		t.Errorf("after a change it was read %d times in 3 turns", n)
	}
	turn(t, r.Receiver)
	turn(t, r.Receiver)
	turn(t, r.Receiver)
	write(t, r.Receiver, "p", encode(t, gauges(2, 7, "a")))
	turn(t, r.Receiver)
	equal(t, "samples", []string{"rrdd/p/host/a 2 7"}, samples(t, r, 0))
	write(t, r.Receiver, "p", encode(t, gauges(3, 8, "a")))
	turn(t, r.Receiver)
	equal(t, "samples", []string{"rrdd/p/host/a 2 7", "rrdd/p/host/a 3 8"}, samples(t, r, 0))
}

// TestHostileFolder: what is no plugin file costs nothing and holds nothing up.
func TestHostileFolder(t *testing.T) {
	r := start(t, nil, nil)
	dir := r.Addr().String()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret")
	must(
		os.WriteFile(outside, encode(t, gauges(0, 1, "secret")), 0o600),
		os.Symlink(outside, at("link")),
		os.Symlink("/dev/zero", at("zero")),
		os.Symlink("nowhere", at("nowhere")),
		os.Mkdir(at("folder"), 0o755),
		unix.Mkfifo(at("fifo"), 0o644),
		os.WriteFile(at("sparse"), nil, 0o600),
		os.Truncate(at("sparse"), 8<<30),
		os.WriteFile(at("announced"), []byte("DATASOURCES\n7fffffff\n0123456789abcdef0123456789abcdef\n"), 0o600),
		os.Truncate(at("announced"), 8<<30),
		os.WriteFile(at("many"), append([]byte(magic), bytes.Repeat([]byte{0x0f}, 12)...), 0o600),
		os.Truncate(at("many"), 8<<30),
		os.WriteFile(at("good"), encode(t, gauges(0, 1, "a")), 0o600),
		os.WriteFile(at("sparse good"), encode(t, gauges(0, 1, "a")), 0o600),
		os.Truncate(at("sparse good"), 8<<30),
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	turn(t, r.Receiver)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("a turn allocated %d bytes", n) // some of them the queue's
	}
	equal(t, "samples", []string{"rrdd/good/host/a 0 1", "rrdd/sparse good/host/a 0 1"}, samples(t, r, 0))
	equal(t, "drops", "malformed 1, limit 2", drops(r))
	if st := r.Stats(); st.Bytes > 20_000 {
		t.Errorf("%d bytes were read", st.Bytes)
	}
	// A plugin file becomes something else.
	must(os.Remove(at("good")), unix.Mkfifo(at("good"), 0o644), os.Remove(at("sparse good")), os.Symlink(outside, at("sparse good")))
	turn(t, r.Receiver)
	if n := r.Stats().Series; n != 0 {
		t.Errorf("%d series are held, want none", n)
	}
	equal(t, "drops", "malformed 2, limit 4", drops(r))
}

// TestRoom: files, data sources and bytes beyond the limits are counted and not kept.
func TestRoom(t *testing.T) {
	r := start(t, nil, nil)
	s := r.Receiver.(*stepped).server
	rest(r.Receiver)
	s.room = room{names: 100, plugins: 3, sources: 5, bytes: 1 << 20}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		write(t, r.Receiver, name, encode(t, gauges(0, 0, "x", "y")))
	}
	turn(t, r.Receiver)
	if n := len(r.Recorder.Series()); n != 4 {
		t.Errorf("%d series were made, want 4", n)
	}
	equal(t, "drops", "limit 4", drops(r)) // two files, two data sources
	rest(r.Receiver)
	if len(s.plugins) != 3 || s.sources != 4 || s.bytes > 4*300 || s.bytes < 4*200 {
		t.Errorf("%d plugins, %d data sources, %d bytes", len(s.plugins), s.sources, s.bytes)
	}
	var gone string
	for _, p := range s.plugins {
		if p.series != nil {
			gone = p.name
		}
	}
	if err := os.Remove(filepath.Join(s.dir, gone)); err != nil {
		t.Fatal(err)
	}
	for range 4 { // the one that was left out has to wait for its turn
		turn(t, r.Receiver)
	}
	rest(r.Receiver)
	if len(s.plugins) != 3 || s.sources != 4 {
		t.Errorf("%d plugins, %d data sources", len(s.plugins), s.sources)
	}
	// Only those that there is room for stay.
	all := []string{"a", "b", "c", "d", "e"}
	var held []string
	for _, p := range s.plugins {
		if p.series != nil {
			held = append(held, p.name)
		}
	}
	for _, name := range all {
		if !slices.Contains(held, name) {
			if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	turn(t, r.Receiver)
	rest(r.Receiver)
	s.room = room{names: 100, plugins: 3, sources: 100, bytes: s.bytes + 500}
	big := gauges(0, 0, "x", "y")
	big.Sources[0].Description = strings.Repeat("d", 1000)
	big.Timestamp++
	before := r.Stats().Dropped[receivers.Limit]
	name := held[0]
	write(t, r.Receiver, name, encode(t, big))
	turn(t, r.Receiver)
	if n := r.Stats().Dropped[receivers.Limit] - before; n != 2 {
		t.Errorf("%d drops for limit, want 2", n)
	}
	// What there is no room for is read at ever fewer turns, whether it changes or not.
	var turns []int
	for n := 2; n < 10; n++ {
		before := r.Stats().Dropped[receivers.Limit]
		big.Timestamp++
		write(t, r.Receiver, name, encode(t, big))
		turn(t, r.Receiver)
		if r.Stats().Dropped[receivers.Limit] > before {
			turns = append(turns, n)
		}
	}
	equal(t, "turns in which it was read", []int{2, 3, 5, 9}, turns)
	// Emptied, everything is given back.
	for _, name := range all {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	turn(t, r.Receiver)
	rest(r.Receiver)
	if len(s.plugins) != 0 || s.sources != 0 || s.bytes != 0 {
		t.Errorf("%d plugins, %d data sources, %d bytes", len(s.plugins), s.sources, s.bytes)
	}
}

// TestNames: no more of a folder is looked at in a turn than the limit says.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 * listed {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		most, names int
		more        bool
	}{{1, listed, true}, {2 * listed, 2 * listed, true}, {3*listed + 1, 3 * listed, false}} {
		d, err := openFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		more, err := d.names(test.most, func(string) { n++ })
		if n != test.names || more != test.more || err != nil {
			t.Errorf("at most %d: %d names, more: %t, %v, want %d, %t", test.most, n, more, err, test.names, test.more)
		}
		_ = d.Close() // read
	}
	if _, err := openFolder(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(filepath.Join(dir, "fifo")); err == nil {
		t.Error("a FIFO opens as a folder")
	}
}

// TestServeTicks: the receiver as it runs, with a ticker.
func TestServeTicks(t *testing.T) {
	r := receivertest.Start(t, receivertest.Case{Protocol: Protocol}, new(receivertest.Recorder), option(flagInterval, "100ms"))
	w := Writer{Path: filepath.Join(r.Addr().String(), "p")}
	defer func() { _ = w.Close() }() // the test has ended
	for n := range 3 {
		if err := w.Write(gauges(n, 1, "a")); err != nil {
			t.Fatal(err)
		}
		r.UntilSamples(n + 1)
	}
	if err := os.WriteFile(filepath.Join(r.Addr().String(), "q"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Minute)
	for r.Stats().Dropped[receivers.Malformed] == 0 { // after a second look
		if time.Now().After(end) {
			t.Fatal("what is no plugin file is not counted")
		}
		time.Sleep(time.Millisecond)
	}
	if r.Addr().Network() != "dir" {
		t.Errorf("network %q", r.Addr().Network())
	}
	var _ io.Closer = r.Receiver
}
