package rra

import (
	"bytes"
	"testing"
)

// fuzzDefinition has a little of everything that a state can hold.
func fuzzDefinition(tb testing.TB) *Machine {
	tb.Helper()
	d, err := ParseDefinition(10, []string{
		"DS:a:COUNTER:100:U:U", "DS:b:DDERIVE:100:U:U", "DS:c:COMPUTE:a,b,+",
		"RRA:AVERAGE:0.5:1:5", "RRA:MAX:0.5:3:4", "RRA:LAST:0:1:7",
		"RRA:HWPREDICT:10:0.1:0.1:3:5", "RRA:SEASONAL:3:0.1:4", "RRA:DEVSEASONAL:3:0.1:4", "RRA:FAILURES:10:2:3:6",
	})
	if err != nil {
		tb.Fatal(err)
	}
	return compile(tb, d)
}

// FuzzState: bytes that decode encode to themselves, and what Check passes can be
// stepped and read without a panic.
func FuzzState(f *testing.F) {
	m := fuzzDefinition(f)
	s := m.NewState(Seconds(1_000_000_000))
	b, _ := s.MarshalBinary()
	f.Add(b) // a new state
	texts := []string{"123456789012345678901234567", "1e"}
	if _, err := m.Step(&s, Seconds(1_000_000_015), []Value{Text(0), Text(1)}, texts, nil); err != nil {
		f.Fatal(err)
	}
	b, _ = s.MarshalBinary()
	f.Add(b)                                            // texts
	f.Add(b[:len(b)-1])                                 // cut
	f.Add([]byte{stateVersion, 0xff, 0xff, 0xff, 0xff}) // more words than bytes
	f.Add([]byte{stateVersion, 0, 1, 1, 2, 'h', 'i'})   // a text and no words
	f.Add([]byte{stateVersion + 1})                     // of another version
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		if err := s.UnmarshalBinary(b); err != nil {
			return
		}
		again, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var s2 State
		if err := s2.UnmarshalBinary(again); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if third, _ := s2.MarshalBinary(); !bytes.Equal(again, third) {
			t.Fatalf("encodings differ")
		}
		if m.Check(&s) != nil {
			return
		}
		last := m.LastUpdate(s.W)
		for _, dt := range []Time{1, 5e6, 10e6, 25e6, 1e12} {
			for a := range m.Definition().Archives {
				m.CDP(&s, a, 1)
				m.CurRow(&s, a)
			}
			m.LastReading(&s, 0)
			runs, err := m.Step(&s, last+dt, []Value{Int(5), Float(2)}, nil, nil)
			if err == nil {
				m.Rows(runs)
			}
			m.EndUpdate(&s)
		}
	})
}

// TestStateDamage: every cut and every version but one is refused.
func TestStateDamage(t *testing.T) {
	m := fuzzDefinition(t)
	s := m.NewState(Seconds(1_000_000_000))
	if _, err := m.Step(&s, Seconds(1_000_000_001), []Value{Text(0), Text(1)}, []string{"007", "1e"}, nil); err != nil {
		t.Fatal(err)
	}
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if err := new(State).UnmarshalBinary(b[:i]); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", i, len(b))
		}
	}
	if err := new(State).UnmarshalBinary(append(b, 0)); err == nil {
		t.Error("a byte more: no error")
	}
	b[0]++
	if err := new(State).UnmarshalBinary(b); err == nil {
		t.Error("another version: no error")
	}
}

// TestCheck: a state that is not of the machine is refused.
func TestCheck(t *testing.T) {
	m := fuzzDefinition(t)
	for name, damage := range map[string]func(*State){
		"words":       func(s *State) { s.W = s.W[1:] },
		"texts":       func(s *State) { s.Text = make([]string, 4) },
		"tag":         func(s *State) { m.ds(s.W, 1)[dsMeta] |= 0x7f },
		"stray text":  func(s *State) { s.Text = []string{"5", "", ""} },
		"unknown sec": func(s *State) { m.ds(s.W, 0)[dsMeta] = 1 << 49 },
		"last update": func(s *State) { s.W[wordLast] = 1 << 63 },
		"current row": func(s *State) { s.W[m.archives[2].cur] |= 0xffffffff << m.archives[2].shift },
		"unknown":     func(s *State) { s.W[m.archives[1].off+cdpMeta] |= 1<<32 - 1 },
	} {
		s := m.NewState(Seconds(1_000_000_000))
		if err := m.Check(&s); err != nil {
			t.Fatal(err)
		}
		damage(&s)
		if m.Check(&s) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
