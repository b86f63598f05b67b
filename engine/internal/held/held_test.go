package held

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

func group() map[int]*Samples {
	texts := []string{"a", "b", "c"}
	return map[int]*Samples{
		3: {List: []Sample{
			NewSample(rra.Seconds(10), []rra.Value{rra.Text(2), rra.Float(1.5), rra.Text(0)}, texts),
			NewSample(rra.Seconds(20)+7, []rra.Value{rra.Int(-1), {}, rra.Uint(9)}, nil),
		}},
		0: {List: []Sample{NewSample(-rra.Seconds(5), []rra.Value{rra.Text(1)}, texts)}},
	}
}

// A sample keeps its own texts, numbered from 0; the batch's may go.
func TestASampleKeepsItsTexts(t *testing.T) {
	x := group()[3].List[0]
	if len(x.Texts) != 2 || x.Texts[x.Values[0].Bits] != "c" || x.Texts[x.Values[2].Bits] != "a" {
		t.Errorf("texts %q of values %v, want c and a", x.Texts, x.Values)
	}
}

// What is coded reads as it was, is valid and is coded in one way only. A code that is cut anywhere
// fails.
func TestCode(t *testing.T) {
	b := Append(nil, group())
	r := record.Reader{Rest: b}
	got := Read(&r, 4)
	if r.Err != nil || len(r.Rest) != 0 {
		t.Fatalf("%d bytes are left: %v", len(r.Rest), r.Err)
	}
	if again := Append(nil, got); !bytes.Equal(again, b) {
		t.Errorf("coded again: %x, before %x", again, b)
	}
	for i, h := range got {
		if !h.Valid(3) || h.Size() != group()[i].Size() {
			t.Errorf("series %d: valid is %v, size %d, before %d", i, h.Valid(3), h.Size(), group()[i].Size())
		}
	}
	for n := range b {
		r := record.Reader{Rest: b[:n]}
		if Read(&r, 4); !errors.Is(r.Err, record.ErrParse) {
			t.Errorf("%d bytes of %d are read without an error: %v", n, len(b), r.Err)
		}
	}
	r = record.Reader{Rest: b}
	if Read(&r, 3); r.Err == nil {
		t.Error("samples of a series beyond the group are read without an error")
	}
}

func TestValid(t *testing.T) {
	at := func(times ...rra.Time) *Samples {
		h := new(Samples)
		for _, x := range times {
			h.List = append(h.List, Sample{At: x, Values: []rra.Value{rra.Float(1)}})
		}
		return h
	}
	for _, tt := range []struct {
		name string
		h    *Samples
		want bool
	}{
		{"in order", at(1, 2, 3), true},
		{"one time twice", at(1, 2, 2), false},
		{"out of order", at(2, 1), false},
		{"out of range", at(record.MaxTime + 1), false},
		{"none", at(), false},
		{"more values than sources", &Samples{List: []Sample{{Values: make([]rra.Value, 2)}}}, false},
		{"an unknown kind of value", &Samples{List: []Sample{{Values: []rra.Value{{Tag: rra.TagInvalid + 1}}}}}, false},
		{"a text that is missing", &Samples{List: []Sample{{Values: []rra.Value{rra.Text(0)}}}}, false},
	} {
		if got := tt.h.Valid(1); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
