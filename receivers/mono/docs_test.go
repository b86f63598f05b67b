package mono

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestPage decodes the examples of the page, and encodes them again.
func TestPage(t *testing.T) {
	blocks := receivertest.Examples(t, "../../docs/wire/mono.md")
	stream := slices.Concat(blocks["hello"], blocks["samples"], blocks["answers"])
	r, err := read([]int16{0}, stream)
	if err != nil {
		t.Fatal(err)
	}
	counters := []Counter{
		{GC, "Minor GC collections", Int, Events, Monotonic, 0},
		{ThreadPool, "Busy", Double, Percentage, Variable, 1},
	}
	half, more := math.Float64bits(0.5), math.Float64bits(0.75)
	first := Ticks(rra.Seconds(1_700_000_000))
	want := []event{
		{Event: "hello", Counters: counters},
		{Event: "sample", Ticks: first, Changed: []int16{0, 1}, Sent: []Value{{0, Int, 7}, {1, Double, half}}, Values: map[string]string{"0": "7", "1": "0x1p-01"}},
		{Event: "sample", Ticks: first + 1e7, Changed: []int16{1}, Sent: []Value{{1, Double, more}}, Values: map[string]string{"0": "7", "1": "0x1.8p-01"}},
		{Event: "list", Pairs: []Pair{{"Heap", "Mono GC"}}},
		{Event: "add", Counter: &Counter{GC, "Heap", Long, Bytes, Variable, 2}},
		{Event: "add", Status: NotFound},
		{Event: "remove"},
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := encodeAgain(t, r); !slices.Equal(again, stream) {
		t.Errorf("encoded again:\n%x, want\n%x", again, stream)
	}
	requests := []Request{{Command: ListRequest}, {Command: AddRequest, Category: "Mono GC", Name: "Heap"}, {Command: RemoveRequest}, {Command: GoodByeRequest}}
	for _, d := range []Dialect{PageDialect, AgentDialect} {
		var b []byte
		for _, r := range requests {
			b = must(AppendRequest(b, d, r))
		}
		if !slices.Equal(b, blocks[d.String()]) {
			t.Errorf("requests of dialect %v: %x, want %x", d, b, blocks[d.String()])
		}
		if got, err := readRequests(d, blocks[d.String()]); err != nil || !slices.Equal(got, requests) {
			t.Errorf("requests of dialect %v: %+v, %v", d, got, err)
		}
	}
}
