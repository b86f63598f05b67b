package mono

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
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
	"github.com/rondo-db/rondo/rra"
)

const captures = "../../testdata/captures/mono"

// A reader is a Handler that remembers what an agent has sent, and has removed what removes says,
// in order.
type reader struct {
	Decoder
	removes []int16
	events  []event
}

// An event is one message, as the manifests have it.
type event struct {
	Event    string
	Counters []Counter         // of hello
	Ticks    int64             // of sample
	Changed  []int16           // of sample: indexes
	Values   map[string]string // of sample: what every counter that has one has now, by index
	Sent     []Value           // of sample: what Changed has
	Pairs    []Pair            // of list
	Status   Status            // of add and remove
	Counter  *Counter          // of add
	Index    int16             // of remove
}

func (r *reader) Hello() {
	var cs []Counter
	for _, x := range r.Readings() {
		cs = append(cs, x.Counter)
	}
	r.events = append(r.events, event{Event: "hello", Counters: cs})
}

func (r *reader) Sample(ticks int64, changed []int) {
	e := event{Event: "sample", Ticks: ticks, Changed: []int16{}, Values: map[string]string{}}
	for _, i := range changed {
		x := r.Readings()[i]
		e.Changed, e.Sent = append(e.Changed, x.Index), append(e.Sent, Value{x.Index, x.Type, x.Bits})
	}
	for _, x := range r.Readings() {
		if x.Known {
			e.Values[strconv.Itoa(int(x.Index))] = x.exact()
		}
	}
	r.events = append(r.events, e)
}

// exact returns the value as text that says every bit.
func (r *Reading) exact() string {
	if r.Type == Double {
		return fmt.Sprintf("%x", math.Float64frombits(r.Bits))
	}
	return strconv.FormatInt(int64(r.Bits), 10)
}

func (r *reader) List(pairs []Pair) { r.events = append(r.events, event{Event: "list", Pairs: pairs}) }

func (r *reader) Added(s Status, position int) {
	e := event{Event: "add", Status: s}
	if position >= 0 {
		c := r.Readings()[position].Counter
		e.Counter = &c
	}
	r.events = append(r.events, e)
}

func (r *reader) Removed(s Status) {
	e := event{Event: "remove", Status: s, Index: -1}
	if len(r.removes) > 0 {
		e.Index, r.removes = r.removes[0], r.removes[1:]
		if s == OK {
			r.Forget(e.Index)
		}
	}
	r.events = append(r.events, e)
}

// read decodes pieces, and their end.
func read(removes []int16, pieces ...[]byte) (*reader, error) {
	r := &reader{removes: removes}
	return r, r.feed(pieces...)
}

// feed decodes pieces, and their end.
func (r *reader) feed(pieces ...[]byte) error {
	parts := make([]io.Reader, len(pieces))
	for i, p := range pieces {
		parts[i] = bytes.NewReader(p)
	}
	if err := r.Decode(io.MultiReader(parts...), r); err != io.EOF {
		return err
	}
	return r.Close()
}

// manifest is testdata/captures/mono/manifest.json.
type manifest struct {
	Files []struct {
		File     string
		Removes  []int16
		Requests []string
		Expected struct {
			Events []struct {
				Event    string
				Version  int
				Counters json.RawMessage
				Ticks    string
				Time     float64
				Changed  []int16
				Values   map[string]any
				Status   Status
				Counter  *Counter
				Index    int16
			}
			Counters map[string]struct {
				Counter
				Series, Kind string
			}
		}
	}
}

func readManifest(t testing.TB) manifest {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func capture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bytewise cuts b into its bytes.
func bytewise(b []byte) (pieces [][]byte) {
	for i := range b {
		pieces = append(pieces, b[i:i+1])
	}
	return pieces
}

// TestCaptures decodes every capture, whole and byte by byte, and compares all of it, to the bit.
func TestCaptures(t *testing.T) {
	m := readManifest(t)
	if len(m.Files) != 5 {
		t.Fatalf("%d captures, want 5", len(m.Files))
	}
	for _, f := range m.Files {
		t.Run(f.File, func(t *testing.T) {
			var want []event
			for _, e := range f.Expected.Events {
				w := event{Event: e.Event, Changed: e.Changed, Status: e.Status, Counter: e.Counter, Index: e.Index}
				switch e.Event {
				case "hello":
					if e.Version != Version {
						t.Fatalf("version %d", e.Version)
					}
					parse(t, e.Counters, &w.Counters)
				case "list":
					var pairs [][2]string
					parse(t, e.Counters, &pairs)
					for _, p := range pairs {
						w.Pairs = append(w.Pairs, Pair{p[0], p[1]})
					}
				case "sample":
					var err error
					if w.Ticks, err = strconv.ParseInt(e.Ticks, 10, 64); err != nil {
						t.Fatal(err)
					}
					if at, ok := TimeOf(w.Ticks); !ok || at != rra.Time(math.Round(e.Time*1e6)) {
						t.Errorf("ticks %d are %v, want %v", w.Ticks, at.Std(), e.Time)
					}
					w.Values = make(map[string]string)
					for i, v := range e.Values {
						if w.Values[i] = fmt.Sprint(v); w.Values[i] != v { // no string: a double
							w.Values[i] = fmt.Sprintf("%x", v)
						}
					}
				}
				want = append(want, w)
			}
			b := capture(t, f.File)
			for how, pieces := range map[string][][]byte{"whole": {b}, "byte by byte": bytewise(b)} {
				got, err := read(f.Removes, pieces...)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				for i := range got.events {
					got.events[i].Sent = nil // it is in Values
				}
				if diff := cmp.Diff(want, got.events); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
				live := make(map[string]string)
				for _, r := range got.Readings() {
					if !r.Removed {
						live[strconv.Itoa(int(r.Index))] = fmt.Sprintf("%+v %s %v", r.Counter, Identify("$PEER", &r.Counter).Path, Define(&r.Counter, 1).Sources[0].Kind)
					}
				}
				wantLive := make(map[string]string)
				for i, c := range f.Expected.Counters {
					wantLive[i] = fmt.Sprintf("%+v %s %s", c.Counter, c.Series, c.Kind)
				}
				if diff := cmp.Diff(wantLive, live); diff != "" {
					t.Errorf("%s: counters (-want +got):\n%s", how, diff)
				}
			}
			checkRequests(t, f.Requests)
		})
	}
}

func parse(t *testing.T, b json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// checkRequests: the requests that a real agent has answered are those that we write.
func checkRequests(t *testing.T, captured []string) {
	t.Helper()
	for _, s := range captured {
		_, digits, _ := strings.Cut(s, ":")
		b := unhex(t, digits)
		for _, pieces := range [][][]byte{{b}, bytewise(b)} {
			rs, err := readRequests(AgentDialect, pieces...)
			if err != nil {
				t.Errorf("%s: %v", s, err)
			}
			var again []byte
			for _, r := range rs {
				again = append(again, must(AppendRequest(nil, AgentDialect, r))...)
			}
			if !slices.Equal(again, b) {
				t.Errorf("%s: written again %x", s, again)
			}
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFirstVersion: the agent of the first weeks, which sends no commands, is refused.
func TestFirstVersion(t *testing.T) {
	r, err := read(nil, capture(t, "agent-v0.bin"))
	if receivers.ReasonOf(err) != receivers.State || len(r.events) > 0 { // its number of counters is no hello
		t.Errorf("%d messages, %v, want none and an error", len(r.events), err)
	}
}

// hello is a hello with counters of every type, which have the indexes 0 to 3.
func hello(t testing.TB) []byte {
	t.Helper()
	var cs []Counter
	for i := range Double + 1 {
		cs = append(cs, Counter{Category: GC, Name: i.String(), Type: i, Unit: Events, Variance: Monotonic, Index: int16(i)})
	}
	b, err := AppendHello(nil, cs)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// header is a header in hexadecimal digits, with the name "n".
func header(category, typ, unit, variance int32, index int16) string {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(category))
	b = append(le.AppendUint32(b, 1), 'n')
	for _, x := range []int32{typ, unit, variance} {
		b = le.AppendUint32(b, uint32(x))
	}
	return hex.EncodeToString(le.AppendUint16(b, uint16(index)))
}

// TestDecodeErrors: what is wrong has its class, and what was whole before it counts.
func TestDecodeErrors(t *testing.T) {
	const (
		ticks  = "0000e4e85ee5db08"
		sample = "04" + ticks + "00000400" + "07000000" + "ffff"
	)
	long := strings.Repeat("61", MaxText+1)
	for _, test := range []struct {
		name, hex string
		greeted   bool // after hello
		reason    receivers.Reason
		offset    int // from the end of hello
		events    int // beside hello
	}{
		{name: "list before hello", hex: "01ffffffff", reason: receivers.State},
		{name: "sample before hello", hex: sample, reason: receivers.State},
		{name: "unknown command before hello", hex: "05", reason: receivers.Unsupported},
		{name: "good bye is no agent's", hex: "7f", reason: receivers.Unsupported},
		{name: "version 0", hex: "0000000000", reason: receivers.Unsupported, offset: 1},
		{name: "version 2", hex: "0002000000", reason: receivers.Unsupported, offset: 1},
		{name: "version 1, big endian", hex: "0000010001", reason: receivers.Unsupported, offset: 1},
		{name: "negative count", hex: "000100ffff", reason: receivers.Limit, offset: 3},
		{name: "4097 counters", hex: "0001000110", reason: receivers.Limit, offset: 3},
		{name: "two counters with one index", hex: "0001000200" + header(1, 0, 0, 1, 5) + header(2, 1, 0, 1, 5), reason: receivers.Malformed, offset: 5 + 23 + 21},
		{name: "type 4", hex: "0001000100" + header(1, 4, 0, 1, 0), reason: receivers.Malformed, offset: 5 + 9},
		{name: "type -1", hex: "0001000100" + header(1, -1, 0, 1, 0), reason: receivers.Malformed, offset: 5 + 9},
		{name: "index -1", hex: "0001000100" + header(1, 0, 0, 1, -1), reason: receivers.Malformed, offset: 5 + 21},
		{name: "null name", hex: "000100010001000000ffffffff", reason: receivers.Malformed, offset: 9},
		{name: "very null name", hex: "00010001000100000000000080", reason: receivers.Malformed, offset: 9},
		{name: "empty name", hex: "00010001000100000000000000", reason: receivers.Malformed, offset: 9},
		{name: "long name", hex: "00010001000100000001040000", reason: receivers.Limit, offset: 9},
		{name: "name with a NUL", hex: "0001000100010000000300000061006200", reason: receivers.Malformed, offset: 14},
		{name: "hello that ends", hex: "0001000100", reason: receivers.Truncated, offset: 5},
		{name: "header that ends", hex: "0001000100" + header(1, 0, 0, 1, 0)[:40], reason: receivers.Truncated, offset: 25},

		{name: "nothing more", greeted: true, reason: receivers.NumReasons},
		{name: "a second hello", greeted: true, hex: sample + "0001000000", reason: receivers.State, offset: 19, events: 1},
		{name: "command 5", greeted: true, hex: sample + "05", reason: receivers.Unsupported, offset: 19, events: 1},
		{name: "index not announced", greeted: true, hex: sample + "04" + ticks + "0000040008000000" + "0400040008000000" + "ffff", reason: receivers.State, offset: 19 + 17, events: 1},
		{name: "int of 8 bytes", greeted: true, hex: "04" + ticks + "00000800", reason: receivers.Malformed, offset: 11},
		{name: "long of 4 bytes", greeted: true, hex: "04" + ticks + "01000400", reason: receivers.Malformed, offset: 11},
		{name: "word of 2 bytes", greeted: true, hex: "04" + ticks + "02000200", reason: receivers.Malformed, offset: 11},
		{name: "double of 4 bytes", greeted: true, hex: "04" + ticks + "03000400", reason: receivers.Malformed, offset: 11},
		{name: "double of -8 bytes", greeted: true, hex: "04" + ticks + "0300f8ff", reason: receivers.Malformed, offset: 11},
		{name: "as many values as may be", greeted: true, hex: "04" + ticks + strings.Repeat("0000040007000000", MaxValues) + "ffff", reason: receivers.NumReasons, events: 1},
		{name: "4097 values", greeted: true, hex: "04" + ticks + strings.Repeat("0000040007000000", MaxValues+1) + "ffff", reason: receivers.Limit, offset: 9 + 8*MaxValues},
		{name: "sample that ends", greeted: true, hex: sample + sample[:len(sample)-2], reason: receivers.Truncated, offset: 37, events: 1},
		{name: "timestamp that ends", greeted: true, hex: sample[:8], reason: receivers.Truncated, offset: 4},
		{name: "any index below 0 ends a sample", greeted: true, hex: "04" + ticks + "0080" + sample, reason: receivers.NumReasons, events: 2},
		{name: "status 4", greeted: true, hex: "0204", reason: receivers.Malformed, offset: 1},
		{name: "status -1", greeted: true, hex: "03ff", reason: receivers.Malformed, offset: 1},
		{name: "every status", greeted: true, hex: "020102020203030003010302 0303", reason: receivers.NumReasons, events: 7},
		{name: "added with an index in use", greeted: true, hex: "0200" + header(1, 0, 0, 1, 3), reason: receivers.Malformed, offset: 2 + 21},
		{name: "added, and sampled", greeted: true, hex: "0200" + header(1, 0, 0, 1, 4) + "04" + ticks + "0400040008000000ffff", reason: receivers.NumReasons, events: 2},
		{name: "added without an end", greeted: true, hex: "0200", reason: receivers.Truncated, offset: 2},
		{name: "empty list", greeted: true, hex: "01ffffffff", reason: receivers.NumReasons, events: 1},
		{name: "list of empty names", greeted: true, hex: "010000000000000000ffffffff", reason: receivers.NumReasons, events: 1},
		{name: "list that ends inside a pair", greeted: true, hex: "010100000061ffffffff", reason: receivers.Malformed, offset: 6},
		{name: "list without an end", greeted: true, hex: "0101000000610100000062", reason: receivers.Truncated, offset: 11},
		{name: "list with a long name", greeted: true, hex: "0101040000" + long, reason: receivers.Limit, offset: 1},
		{name: "long list", greeted: true, hex: "01" + strings.Repeat("0100000061", 2*MaxPairs+1), reason: receivers.Limit, offset: 1 + 5*2*MaxPairs},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := unhex(t, test.hex)
			if test.greeted {
				b = append(hello(t), b...)
				test.offset += len(hello(t))
				test.events++
			}
			if test.reason != receivers.NumReasons && test.reason != receivers.Truncated {
				b = append(b, unhex(t, sample)...) // is not read
			}
			for how, pieces := range map[string][][]byte{"whole": {b}, "byte by byte": bytewise(b)} {
				r, err := read(nil, pieces...)
				var e *receivers.Error
				switch {
				case test.reason == receivers.NumReasons:
					if err != nil {
						t.Errorf("%s: %v", how, err)
					}
				case !errors.As(err, &e):
					t.Errorf("%s: error %v, want one", how, err)
				case e.Reason != test.reason || e.Offset != test.offset:
					t.Errorf("%s: %q %d bytes from the beginning, want %v at %d", how, err, e.Offset, test.reason, test.offset)
				}
				if len(r.events) != test.events {
					t.Errorf("%s: %d messages, want %d: %+v", how, len(r.events), test.events, r.events)
				}
				if again := r.Close(); test.reason != receivers.NumReasons && again.Error() != err.Error() {
					t.Errorf("%s: error %v after %v", how, again, err)
				}
			}
		})
	}
}

// TestForget: a counter that was removed has no value and no index, and may come again.
func TestForget(t *testing.T) {
	sample := func(index string) string { return "04" + "0000e4e85ee5db08" + index + "000400" + "07000000" + "ffff" }
	r, err := read([]int16{0, 9, 0}, hello(t), unhex(t, sample("00")+"0300"+"0300"+"04"+"0000e4e85ee5db08"+"ffff"))
	if err != nil {
		t.Fatal(err)
	}
	if last := r.events[len(r.events)-1]; len(last.Values) != 0 || !r.Readings()[0].Removed || r.Readings()[1].Removed {
		t.Errorf("after the removal: %+v", last)
	}
	if r.Forget(0) || r.Forget(-1) {
		t.Error("a counter is removed twice")
	}
	if err := r.feed(unhex(t, "0200"+header(1, 0, 0, 1, 0)+sample("00"))); err != nil {
		t.Fatal(err)
	}
	if last := r.events[len(r.events)-1]; last.Values["0"] != "7" || len(r.Readings()) != 5 {
		t.Errorf("added again: %+v", last)
	}
	r.Forget(0)
	if err := r.feed(unhex(t, sample("00"))); receivers.ReasonOf(err) != receivers.State {
		t.Errorf("a value after the removal: %v", err)
	}
}
