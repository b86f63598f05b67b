package mono

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
)

// TestEncodeRefuses: what a decoder would not take is not written.
func TestEncodeRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxText+1)
	counter := func(change func(*Counter)) Counter {
		c := Counter{Name: "n"}
		change(&c)
		return c
	}
	many := make([]Counter, MaxCounters+1)
	for i := range many {
		many[i] = Counter{Name: "n", Index: int16(i)}
	}
	one := Counter{Name: "n"}
	for name, err := range map[string]error{
		"empty name":            second(AppendHello(nil, []Counter{counter(func(c *Counter) { c.Name = "" })})),
		"long name":             second(AppendHello(nil, []Counter{counter(func(c *Counter) { c.Name = long })})),
		"NUL":                   second(AppendHello(nil, []Counter{counter(func(c *Counter) { c.Name = "a\x00" })})),
		"type":                  second(AppendHello(nil, []Counter{counter(func(c *Counter) { c.Type = Double + 1 })})),
		"negative type":         second(AppendHello(nil, []Counter{counter(func(c *Counter) { c.Type = -1 })})),
		"negative index":        second(AppendHello(nil, []Counter{counter(func(c *Counter) { c.Index = -1 })})),
		"one index twice":       second(AppendHello(nil, []Counter{one, one})),
		"counters":              second(AppendHello(nil, many)),
		"added":                 second(AppendAdded(nil, OK, &Counter{})),
		"values":                second(AppendSample(nil, 1, make([]Value, MaxValues+1))),
		"value's index":         second(AppendSample(nil, 1, []Value{{Index: -1}})),
		"list":                  second(AppendList(nil, make([]Pair, MaxPairs+1))),
		"list's name":           second(AppendList(nil, []Pair{{"a", long}})),
		"request":               second(AppendRequest(nil, PageDialect, Request{Command: 9})),
		"add without category":  second(AppendRequest(nil, PageDialect, Request{Command: AddRequest, Name: "n"})),
		"add without name":      second(AppendRequest(nil, AgentDialect, Request{Command: AddRequest, Category: "c"})),
		"add with a long name":  second(AppendRequest(nil, AgentDialect, Request{Command: AddRequest, Category: "c", Name: long})),
		"removal of everything": second(AppendRequest(nil, AgentDialect, Request{Command: RemoveRequest, Index: -1})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second(b []byte, err error) error {
	if err != nil && len(b) > 0 {
		panic("bytes beside an error")
	}
	return err
}

// TestSenderSendsChanges: a sample carries what differs from the last, and all of a counter that was
// added again.
func TestSenderSendsChanges(t *testing.T) {
	sender, err := NewSender(PageDialect, []Offer{
		{Counter: Counter{Category: GC, Name: "still", Type: Int, Variance: Monotonic}, Bits: 7},
		{Counter: Counter{Category: GC, Name: "moves", Type: Long, Variance: Monotonic}, Step: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sender.AppendHello(nil)
	for range 3 {
		if err == nil {
			b, err = sender.AppendSample(b, 1)
		}
	}
	for _, r := range []Request{{Command: RemoveRequest}, {Command: AddRequest, Category: GC.String(), Name: "still"}} {
		if err == nil {
			b, err = sender.AppendAnswer(b, r)
		}
	}
	if err == nil {
		b, err = sender.AppendSample(b, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := read([]int16{0}, b)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]int16
	for _, e := range r.events {
		if e.Event == "sample" {
			got = append(got, e.Changed)
		}
	}
	if diff := cmp.Diff([][]int16{{0, 1}, {1}, {1}, {2, 1}}, got); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// TestRequests: requests in both dialects, as bytes.
func TestRequests(t *testing.T) {
	add := Request{Command: AddRequest, Category: "C", Name: "ab"}
	for _, test := range []struct {
		r           Request
		page, agent string
	}{
		{Request{Command: ListRequest}, "01", "00"},
		{add, "02 02000000 6162 01000000 43", "01 01000000 43 02000000 6162"},
		{Request{Command: RemoveRequest, Index: 258}, "03 0201", "02 0201"},
		{Request{Command: GoodByeRequest}, "7f", "7f"},
	} {
		for d, want := range []string{test.page, test.agent} {
			b, err := AppendRequest(nil, Dialect(d), test.r)
			if err != nil || !slices.Equal(b, unhex(t, want)) {
				t.Errorf("%+v in dialect %v: %x, %v, want %s", test.r, Dialect(d), b, err, want)
			}
			got, err := readRequests(Dialect(d), bytewise(b)...)
			if diff := cmp.Diff([]Request{test.r}, got); diff != "" || err != nil {
				t.Errorf("read again: %v (-want +got):\n%s", err, diff)
			}
		}
	}
	for _, test := range []struct {
		hex    string
		d      Dialect
		reason receivers.Reason
	}{
		{"00", PageDialect, receivers.Unsupported},
		{"04", PageDialect, receivers.Unsupported},
		{"03", AgentDialect, receivers.Unsupported},
		{"02ffffffff", PageDialect, receivers.Malformed},
		{"010000000000000080", AgentDialect, receivers.Malformed},
		{"0201040000", PageDialect, receivers.Limit},
		{"020100000000", PageDialect, receivers.Malformed},
	} {
		if rs, err := readRequests(test.d, unhex(t, test.hex)); receivers.ReasonOf(err) != test.reason || len(rs) > 0 {
			t.Errorf("%s: %v, %v, want an error of class %v", test.hex, rs, err, test.reason)
		}
	}
}
