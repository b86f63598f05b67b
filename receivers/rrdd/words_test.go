package rrdd

import (
	"encoding"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// TestWords: what is written as a text is read again, and nothing else.
func TestWords(t *testing.T) {
	type word interface {
		encoding.TextMarshaler
		fmt.Stringer
	}
	for _, test := range []struct {
		into encoding.TextUnmarshaler
		all  []word
	}{
		{new(Type), []word{Absolute, Gauge, Derive, Rate, AbsoluteToRate}},
		{new(ValueType), []word{Float, Int64}},
		{new(Transform), []word{Identity, Inverse}},
	} {
		for _, w := range test.all {
			b, err := w.MarshalText()
			if err != nil || string(b) != w.String() {
				t.Errorf("%v: %q, %v", w, b, err)
			}
			if err := test.into.UnmarshalText([]byte(strings.ToUpper(string(b)))); err != nil || fmt.Sprint(test.into) != fmt.Sprint(w) {
				t.Errorf("%q is %v, %v, want %v", b, test.into, err, w)
			}
		}
		if err := test.into.UnmarshalText([]byte("bogus")); err == nil || !strings.Contains(err.Error(), test.all[1].String()) {
			t.Errorf("%T: bogus: %v", test.into, err)
		}
	}
	if Type(99).String() != "unknown" || Vocabulary(99).String() != "unknown" {
		t.Error("what is no word has one")
	}
	for text, want := range map[string]Source{"host": {}, "VM x": {Owner: VM, UUID: "x"}, "sr y-z": {Owner: SR, UUID: "y-z"}} {
		if o, uuid, err := ParseOwner(text); err != nil || o != want.Owner || uuid != want.UUID {
			t.Errorf("%q: %v %q, %v", text, o, uuid, err)
		}
	}
	for _, text := range []string{"", "vm", "host x", "guest x"} {
		if _, _, err := ParseOwner(text); err == nil {
			t.Errorf("owner %q is taken", text)
		}
	}
	if v, err := ParseValue("-5", Int64); err != nil || v != rra.Int(-5) {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := ParseValue("1e3", Float); err != nil || v != rra.Float(1000) {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := ParseValue("1e3", Int64); err == nil {
		t.Error("1e3 is a whole number")
	}
}
