package rrdd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// python returns a command of the independent writer.
func python(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path := rrdtooltest.Peer(t, "python3")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, append([]string{filepath.Join("testdata", "plugin.py")}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// An instruction is what the independent writer is asked to write.
type instruction struct {
	Version   int          `json:"version"`
	Timestamp string       `json:"timestamp"`
	Sources   []instructed `json:"sources"`
}

type instructed struct {
	Name   string         `json:"name"`
	Int    string         `json:"int,omitempty"`
	Float  string         `json:"float,omitempty"`
	Fields map[string]any `json:"fields"`
}

var names = []string{"cpu0", "température", "a/b", `q"uo\te`, "", "\u0001", "😀", "sda read", "..", "z"}

// random makes a file, and the instructions for the writer.
func random(rnd *rand.Rand, version int) (*File, *instruction) {
	f := &File{Version: version, Timestamp: 1.6e9 + rnd.Float64()*1e8}
	w := &instruction{Version: version, Timestamp: fmt.Sprint(f.Timestamp), Sources: []instructed{}}
	one := func(words []string) (int, string) {
		i := rnd.IntN(len(words))
		word := words[i]
		if rnd.IntN(4) == 0 {
			word = strings.ToUpper(word)
		}
		return i, word
	}
	chosen := slices.Clone(names)
	rnd.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	chosen = chosen[:rnd.IntN(len(chosen)+1)]
	slices.Sort(chosen) // as the writer does
	for _, name := range chosen {
		s := Source{Name: name, Min: -inf, Max: inf}
		o := instructed{Name: name, Fields: map[string]any{}}
		maybe := func(field string, value any) bool {
			if rnd.IntN(4) == 0 {
				return false
			}
			o.Fields[field] = value
			return true
		}
		i, word := one(valueTypeWords)
		o.Fields["value_type"], s.ValueType = word, ValueType(i)
		o.Fields["value_type"] = strings.ToLower(word) // the writer compares
		if i, word := one(typeWords); maybe("type", word) {
			s.Type = Type(i)
		}
		if i, word := one(ownerWords); i == int(Host) {
			maybe("owner", word)
		} else if uuid := fmt.Sprintf("%08x-0000", rnd.Uint32()); maybe("owner", word+" "+uuid) {
			s.Owner, s.UUID = Owner(i), uuid
		}
		if i, word := one(transformWords); maybe("transform", word) {
			s.Transform = Transform(i)
		}
		if i, word := one(boolWords); maybe("default", word) {
			s.Default = i == 1
		}
		if maybe("units", "°C") {
			s.Units = "°C"
		}
		if maybe("description", "line\nline \"é\"") {
			s.Description = "line\nline \"é\""
		}
		if lo := rnd.NormFloat64(); maybe("min", lo) {
			s.Min = lo
		}
		if hi := 10 + rnd.Float64(); maybe("max", fmt.Sprint(hi)) {
			s.Max = hi
		}
		v := rra.Int(int64(rnd.Uint64()))
		if s.ValueType == Float {
			x := [...]float64{math.Float64frombits(rnd.Uint64()), rnd.NormFloat64(), 0, inf, -inf, math.NaN()}[rnd.IntN(6)]
			v, o.Float = rra.Float(x), strconv.FormatFloat(x, 'g', -1, 64)
		} else {
			o.Int = strconv.FormatInt(int64(v.Bits), 10)
		}
		f.Sources, f.Values, w.Sources = append(f.Sources, s), append(f.Values, v), append(w.Sources, o)
	}
	return f, w
}

// TestPythonWriter: files of a writer made from the description alone read as what it was asked to
// write, one after the other in one place, of both versions.
func TestPythonWriter(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p")
	cmd := python(t, "steps", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rnd := seedtest.Rand(t)
	answers := bufio.NewScanner(out)
	var r Reader
	for i := range 300 {
		want, w := random(rnd, 1+rnd.IntN(2))
		line, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("step %d: the writer has ended: %v\n%s", i, answers.Err(), line)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		updated, err := r.Read(bytes.NewReader(b), int64(len(b)))
		if !updated || err != nil {
			t.Fatalf("step %d: %t, %v\n%s", i, updated, err, line)
		}
		got := &File{r.version, r.Timestamp(), r.Sources(), r.Values()}
		if diff := cmp.Diff(texts("p", want), texts("p", got)); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s%s", i, diff, line)
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Errorf("writer: %v", err)
	}
}

// whole fails the test if the values of a reading do not all come from one write of the flood: see
// invariant in plugin.py.
func whole(timestamp float64, sources []Source, values []rra.Value) error {
	n := int64(timestamp - 1700000000)
	generation := n / 20
	if want := int(2 * (5 + generation%7)); len(sources) != want {
		return fmt.Errorf("write %d: %d data sources, want %d", n, len(sources), want)
	}
	for i := range sources {
		var g, k int64
		var kind byte
		if _, err := fmt.Sscanf(sources[i].Name, "g%d %c%d", &g, &kind, &k); err != nil {
			return err
		}
		want := rra.Int(n*1000 + k)
		if kind == 'f' {
			want = rra.Float(float64(n) + float64(k)/1024)
		}
		if g != generation || values[i] != want {
			return fmt.Errorf("write %d: %q is %s, want %s of generation %d", n, sources[i].Name, bits(values[i]), bits(want), generation)
		}
	}
	return nil
}

// TestPythonFlood: of a file that is rewritten in place thousands of times in small pieces, while
// it is read as fast as it goes, no half is ever believed. One reader remembers what it has read,
// as the receiver does; one is new each time.
func TestPythonFlood(t *testing.T) {
	writes := 10 * seedtest.Programs(100, 1)
	for _, version := range []int{1, 2} {
		for _, how := range []string{"body", "start", "mmap"} {
			t.Run(fmt.Sprintf("version=%d/%s", version, how), func(t *testing.T) {
				t.Parallel()
				name := t.TempDir()
				dir, err := openFolder(name)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = dir.Close() }() // read
				cmd := python(t, "flood", filepath.Join(name, "p"), fmt.Sprint(version), how, fmt.Sprint(writes))
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				old := new(Reader)
				updates, halves, reads := 0, 0, 0
				for running := true; running; reads++ {
					select {
					case err := <-ended:
						if err != nil {
							t.Fatalf("writer: %v", err)
						}
						running = false // one more reading, of what it has left
					default:
					}
					r := old
					if reads%2 == 1 && running {
						r = new(Reader)
					}
					f, size, err := dir.open("p")
					if errors.Is(err, errGone) {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					updated, err := r.Read(f, size)
					_ = f.Close()
					var e *receivers.Error
					switch {
					case errors.As(err, &e):
						halves++
					case err != nil:
						t.Fatal(err)
					case updated:
						updates++
						if err := whole(r.Timestamp(), r.Sources(), r.Values()); err != nil {
							t.Fatalf("a half was believed after %d updates: %v", updates, err)
						}
					}
				}
				if got := old.Timestamp(); got != float64(1700000000+writes-1) {
					t.Errorf("the last reading is of write %v", got-1700000000)
				}
				t.Logf("%d writes, %d reads: %d updates, %d halves", writes, reads, updates, halves)
			})
		}
	}
}

// TestPythonFloodReceived: the same through the receiver and its second looks: every sample belongs
// to its time.
func TestPythonFloodReceived(t *testing.T) {
	r := start(t, nil, func() { time.Sleep(50 * time.Microsecond) })
	writes := 10 * seedtest.Programs(100, 1)
	file := filepath.Join(r.Addr().String(), "p")
	// The file is whole before the flood begins: a writer that stops before its first header leaves
	// zeros there for any time, and these are no halves of a plugin file.
	if err := python(t, "flood", file, "2", "body", "1").Run(); err != nil {
		t.Fatal(err)
	}
	cmd := python(t, "flood", file, "2", "body", fmt.Sprint(writes))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("writer: %v", err)
			}
			running = false
		default:
		}
		turn(t, r.Receiver)
	}
	all := r.UntilSamples(int(r.Stats().Samples))
	for _, s := range all {
		n := int64(s.At)/1e6 - 1700000000
		var g, k int64
		var kind byte
		if _, err := fmt.Sscanf(s.Path, "rrdd/p/host/g%d %c%d", &g, &kind, &k); err != nil {
			t.Fatal(err)
		}
		want := rra.Int(n*1000 + k)
		if kind == 'f' {
			want = rra.Float(float64(n) + float64(k)/1024)
		}
		if g != n/20 || s.Values[0] != want {
			t.Fatalf("%s at %d is %s, want %s", s.Path, n, bits(s.Values[0]), bits(want))
		}
	}
	if len(all) == 0 || all[len(all)-1].At != rra.Seconds(int64(receivertest.Epoch+writes-1)) {
		t.Errorf("%d samples; the last is not that of the last write", len(all))
	}
	for reason := range receivers.NumReasons {
		half := reason == receivers.Checksum || reason == receivers.Truncated // a writer may stop for longer than between two looks
		if n := r.Stats().Dropped[reason]; n > 0 && !half {
			t.Errorf("%d drops for %v", n, reason)
		}
	}
	t.Logf("%d samples, %s", len(all), drops(r))
}

// TestPythonPace: a plugin as it runs on a host, read by the receiver as it runs.
func TestPythonPace(t *testing.T) {
	r := receivertest.Start(t, receivertest.Case{Protocol: Protocol}, new(receivertest.Recorder), func(c *receivers.Config) {
		option(flagInterval, "100ms")(c)
		c.Now = time.Now
	})
	for version, name := range map[int]string{1: "one", 2: "two"} {
		cmd := python(t, "pace", filepath.Join(r.Addr().String(), name), fmt.Sprint(version), "0.02")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func(in io.Closer) {
			if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
				t.Errorf("writer: %v", err)
			}
		}(in)
	}
	r.Until("three readings of each", func(s receivertest.State) bool {
		n := make(map[string]int)
		for _, x := range s.Samples {
			n[x.Path]++
		}
		return n["rrdd/one/host/written"] >= 3 && n["rrdd/two/host/written"] >= 3 && n["rrdd/one/host/seconds"] >= 3 && n["rrdd/two/host/seconds"] >= 3
	})
	for _, s := range r.Recorder.Series() {
		want := rra.Gauge
		if strings.HasSuffix(s.Path, "written") {
			want = rra.Derive
		}
		if s.Definition.Sources[0].Kind != want {
			t.Errorf("%s: %s, want %s", s.Path, kindNames[s.Definition.Sources[0].Kind], kindNames[want])
		}
	}
	last := make(map[string]receivertest.Sample)
	for _, s := range r.Recorder.Samples() {
		if before, ok := last[s.Path]; ok && (s.At <= before.At || strings.HasSuffix(s.Path, "written") && int64(s.Values[0].Bits) <= int64(before.Values[0].Bits)) {
			t.Errorf("%s: %v at %v after %v at %v", s.Path, s.Values, s.At.Std(), before.Values, before.At.Std())
		}
		last[s.Path] = s
	}
}
