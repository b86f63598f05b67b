package rra

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// TestStateFormat decodes the example of docs/format-state.md and makes it again.
func TestStateFormat(t *testing.T) {
	page, err := os.ReadFile("../docs/format-state.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for line := range strings.Lines(string(page)) {
		if text, ok := strings.CutPrefix(line, "    "); ok {
			digits, _, _ := strings.Cut(strings.TrimRight(text, "\n"), "   ")
			b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			want = append(want, b...)
		}
	}
	d, err := ParseDefinition(10, []string{"DS:a:COUNTER:20:U:U", "RRA:AVERAGE:0.5:1:5", "RRA:MAX:0.5:2:4"})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSeries(compile(t, d), "", Seconds(1000000000))
	for _, u := range []update{
		{"1000000010", []string{"0"}},
		{"1000000020", []string{"100"}},
		{"1000000030", []string{"200"}},
		{"1000000035", []string{"0300"}},
	} {
		at, values, texts := u.reading(d)
		if _, err := s.Update(at, values, texts...); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.State.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the page has\n% x\nthe state is\n% x", want, got)
	}
	var read State
	if err := read.UnmarshalBinary(want); err != nil {
		t.Fatal(err)
	}
	if err := s.Machine.Check(&read); err != nil {
		t.Fatal(err)
	}
	if text := s.Machine.LastReading(&read, 0); text != "0300" {
		t.Errorf("last reading %q", text)
	}
}
