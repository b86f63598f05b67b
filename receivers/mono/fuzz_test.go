package mono

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode: no bytes of an agent crash the decoder, make it hold or allocate out of proportion,
// mean something else when they are cut, or come out otherwise after they were encoded again.
func FuzzDecode(f *testing.F) {
	for _, m := range readManifest(f).Files {
		f.Add(capture(f, m.File), uint8(7)) // a real agent, and the page
	}
	f.Add(capture(f, "agent-v0.bin"), uint8(1))                                                                                       // before there were commands
	f.Add(append(hello(f), unhex(f, "01"+strings.Repeat("0100000061", 9)+"0100000061"+"ffffffff")...), uint8(3))                      // a list
	f.Add(append(hello(f), unhex(f, "0200"+header(3, 3, 9, 9, 77)+"0203"+"0300"+"0302")...), uint8(2))                                // answers
	f.Add(unhex(f, "0001000010"), uint8(1))                                                                                           // announces 4096 counters
	f.Add(append(hello(f), bytes.Repeat(unhex(f, "040000e4e85ee5db0800000400070000000300080000000000000000ffff"), 20)...), uint8(13)) // as the agent never does
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		checkAllocation(t, b)
		whole, err := read(nil, b)
		pieces := slices.Collect(slices.Chunk(b, 1+int(cut)%40))
		cutUp, cutErr := read(nil, pieces...)
		if !reflect.DeepEqual(whole.events, cutUp.events) { // much faster than to say what differs
			t.Errorf("cut after every %d bytes (-whole +cut):\n%s", 1+int(cut)%40, cmp.Diff(whole.events, cutUp.events))
		}
		if fmt.Sprint(err) != fmt.Sprint(cutErr) {
			t.Errorf("cut: error %v, want %v", cutErr, err)
		}
		again, err := read(nil, encodeAgain(t, whole))
		if err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if !reflect.DeepEqual(whole.events, again.events) {
			t.Errorf("encoded again (-was +is):\n%s", cmp.Diff(whole.events, again.events))
		}
	})
}

// A discard is a Handler that keeps nothing.
type discard struct{}

func (discard) Hello()              {}
func (discard) Sample(int64, []int) {}
func (discard) List([]Pair)         {}
func (discard) Added(Status, int)   {}
func (discard) Removed(Status)      {}

// checkAllocation: a header of 23 bytes at least becomes a reading and an entry in a table, and
// both grow by doubling; a value of 8 bytes at least one that is pending.
func checkAllocation(t *testing.T, b []byte) {
	t.Helper()
	var d Decoder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = d.Decode(bytes.NewReader(b), discard{}) // any outcome is fine
	runtime.ReadMemStats(&after)
	// Other goroutines of the test allocate too.
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(40*len(b)+64<<10); got > most {
		t.Errorf("decoding %d bytes allocated %d, more than %d", len(b), got, most)
	}
	if got, most := d.Held(), 16*len(b)+1024; got > most {
		t.Errorf("%d bytes are held as %d, more than %d", len(b), got, most)
	}
}

// encodeAgain writes the messages that r has read.
func encodeAgain(t *testing.T, r *reader) (b []byte) {
	t.Helper()
	for _, e := range r.events {
		var err error
		switch e.Event {
		case "hello":
			b, err = AppendHello(b, e.Counters)
		case "sample":
			b, err = AppendSample(b, e.Ticks, e.Sent)
		case "list":
			b, err = AppendList(b, e.Pairs)
		case "add":
			b, err = AppendAdded(b, e.Status, e.Counter)
		case "remove":
			b = AppendRemoved(b, e.Status)
		}
		if err != nil {
			t.Fatalf("%+v is not encoded: %v", e, err)
		}
	}
	return b
}

// FuzzRequest: no bytes of an inspector crash the decoder, mean something else when they are cut,
// or come out otherwise after they were encoded again. What an agent takes amiss is not encoded.
func FuzzRequest(f *testing.F) {
	for _, m := range readManifest(f).Files {
		var all []byte
		for _, s := range m.Requests {
			_, digits, _ := strings.Cut(s, ":")
			all = append(all, unhex(f, digits)...)
		}
		f.Add(all, true, uint8(5))
	}
	for _, d := range []Dialect{PageDialect, AgentDialect} {
		var all []byte
		for _, r := range someRequests {
			var err error
			if all, err = AppendRequest(all, d, r); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(all, d == AgentDialect, uint8(1))
	}
	f.Add(unhex(f, "02ffffffff"), false, uint8(0)) // a null string
	f.Add(unhex(f, "03ffff"), false, uint8(0))     // all of them
	f.Fuzz(func(t *testing.T, b []byte, agent bool, cut uint8) {
		d := PageDialect
		if agent {
			d = AgentDialect
		}
		whole, err := readRequests(d, b)
		cutUp, cutErr := readRequests(d, slices.Collect(slices.Chunk(b, 1+int(cut)%40))...)
		if !reflect.DeepEqual(whole, cutUp) || fmt.Sprint(err) != fmt.Sprint(cutErr) {
			t.Errorf("cut: %v, want %v (-whole +cut):\n%s", cutErr, err, cmp.Diff(whole, cutUp))
		}
		var encoded []byte
		var want []Request
		for _, r := range whole {
			e, err := AppendRequest(encoded, d, r)
			if amiss := r.Index < 0 || r.Command == AddRequest && (r.Name == "" || r.Category == ""); amiss != (err != nil) {
				t.Errorf("%+v: %v", r, err)
			}
			if err == nil {
				encoded, want = e, append(want, r)
			}
		}
		again, err := readRequests(d, encoded)
		if !reflect.DeepEqual(want, again) || err != nil {
			t.Errorf("encoded again: %v (-was +is):\n%s", err, cmp.Diff(want, again))
		}
	})
}

var someRequests = []Request{
	{Command: ListRequest},
	{Command: AddRequest, Category: "Mono GC", Name: "Minor GC collections"},
	{Command: AddRequest, Category: "Mono Custom", Name: strings.Repeat("x", MaxText)},
	{Command: RemoveRequest, Index: 258},
	{Command: GoodByeRequest},
}

func readRequests(dialect Dialect, pieces ...[]byte) (rs []Request, err error) {
	var parts []io.Reader
	for _, p := range pieces {
		parts = append(parts, bytes.NewReader(p))
	}
	in := bufio.NewReader(io.MultiReader(parts...))
	for {
		r, err := ReadRequest(in, dialect)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return rs, nil
		case err != nil:
			return rs, err
		}
		rs = append(rs, r)
	}
}
