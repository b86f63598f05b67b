package lines

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestSuite: it does what every receiver must do.
func TestSuite(t *testing.T) {
	receivertest.Run(t, receivertest.Case{
		Fixed:    true,
		Protocol: Protocol,
		Message:  func(n int) []byte { return fmt.Appendf(nil, "a %d %d\n", n, receivertest.Epoch+n) },
		Garbage: [][]byte{
			[]byte("x"), []byte("x 1"), []byte("x NaN 1700000000"), []byte("x 1 1700000000000000000000"),
			[]byte("\n"), []byte("x 1 2 3\n"), bytes.Repeat([]byte("9"), 60_000),
		},
	})
}

// TestDecode: lines before one that is wrong are taken, and the error says where that one begins.
func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		packet, want string
		offset       int // of what is wrong; -1: nothing
	}{
		{"a 1 2\nb -1.5e3 4", "a=1@2 b=-1500@4", -1},
		{"a 1 2\n", "a=1@2", -1},
		{"", "", -1},
		{"a 1 2\nb x 4\nc 1 2", "a=1@2", 6},
		{"a 1 2\n\n", "a=1@2", 6},
		{" 1 2", "", 0},
		{"a +Inf 2", "", 0},
		{"a 1 " + strings.Repeat("9", 18), "", 0},
		{strings.Repeat("a", 1025) + " 1 2", "", 0},
	} {
		var got []string
		err := Decode([]byte(tt.packet), func(l Line) {
			got = append(got, fmt.Sprintf("%s=%v@%d", l.Name, l.Value, l.Time.Unix()))
		})
		offset := -1
		var e *receivers.Error
		if errors.As(err, &e) {
			offset = e.Offset
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" || offset != tt.offset || (err == nil) != (offset < 0) {
			t.Errorf("%.40q: %v (-want +got):\n%s", tt.packet, err, diff)
		}
	}
}

// FuzzDecode: no datagram does harm, and what Decode has taken is written as it was read.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a 1 1700000000\nb 2.5 1700000001\n"))
	f.Add([]byte("a 1"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		var again []byte
		var want []Line
		_ = Decode(packet, func(l Line) { // what is wrong is tested elsewhere
			want = append(want, l)
			again = fmt.Appendf(again, "%s %v %d\n", l.Name, l.Value, l.Time.Unix())
		})
		var got []Line
		if err := Decode(again, func(l Line) { got = append(got, l) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", again, diff)
		}
	})
}

// TestStep: the step of new series comes from the flag, unless a rule says another.
func TestStep(t *testing.T) {
	c := receivers.Config{Options: map[string][]string{"lines-step": {"1m"}}}
	for step, want := range map[int64]int64{0: 60, 5: 5} {
		if got := Protocol.Default(c, step).Step; got != want {
			t.Errorf("a step of %d becomes %d, want %d", step, got, want)
		}
	}
	c.Options["lines-step"] = []string{"0"}
	if err := Protocol.Check(c); err == nil || !strings.Contains(err.Error(), "--lines-step") {
		t.Errorf("a step of 0: %v", err)
	}
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, receivertest.Case{Protocol: Protocol, Options: map[string][]string{"lines-step": {"30"}}}, rec, nil)
	r.Send(fmt.Appendf(nil, "a/b 1 %d", receivertest.Epoch))
	r.UntilSamples(1)
	s := rec.Series()[0]
	if s.Path != "lines/a_b" || s.Definition.Step != 30 || s.Definition.Sources[0].Kind != rra.Gauge {
		t.Errorf("%+v", s)
	}
}
