package rra

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestSnapshot: a state that went through a snapshot, at any time, is the same and goes on to the
// same rows.
func TestSnapshot(t *testing.T) {
	r := seedtest.Rand(t)
	for i := range 200 {
		p := newTrial(r, i%3 == 0)
		m := compile(t, p.def)
		a := m.NewState(Seconds(p.start))
		m.SmoothBy(a.W, r.Uint64())
		b := a.Clone()
		for j, command := range p.commands {
			if r.IntN(10) == 0 || j == 0 {
				var err error
				if b, err = m.Import(m.Snapshot(&b)); err != nil {
					t.Fatalf("%v: after command %d: %v", p.args, j, err)
				}
				if err := m.Check(&b); err != nil {
					t.Fatalf("%v: after command %d: %v", p.args, j, err)
				}
				if !sameState(&a, &b) {
					t.Fatalf("%v: after command %d: state %x %q, imported %x %q", p.args, j, a.W, a.Text, b.W, b.Text)
				}
			}
			for _, u := range command {
				at, values, texts := u.reading(p.def)
				aRuns, aErr := m.Step(&a, at, values, texts, nil)
				bRuns, bErr := m.Step(&b, at, values, texts, nil)
				if fmt.Sprint(aErr) != fmt.Sprint(bErr) || !sameRuns(aRuns, bRuns) {
					t.Fatalf("%v: command %d: %v and %v, rows %v, of the imported state %v", p.args, j, aErr, bErr, aRuns, bRuns)
				}
			}
			m.EndUpdate(&a)
			m.EndUpdate(&b)
		}
	}
}

// sameState reports whether the words are equal, and the texts that are not empty.
func sameState(a, b *State) bool {
	text := func(s *State, i int) string {
		if i < len(s.Text) {
			return s.Text[i]
		}
		return ""
	}
	for i := range max(len(a.Text), len(b.Text)) {
		if text(a, i) != text(b, i) {
			return false
		}
	}
	return slices.Equal(a.W, b.W)
}

// TestImportBeyond: a file may hold more unknown seconds than a step has, and more unknown PDPs
// than a row has; a tuned one does. They are too many, whatever comes, until the PDP or row is
// closed.
func TestImportBeyond(t *testing.T) {
	d, err := ParseDefinition(10, []string{"DS:a:GAUGE:100:U:U", "RRA:AVERAGE:0.9:1:3", "RRA:AVERAGE:0.9:3:3"})
	if err != nil {
		t.Fatal(err)
	}
	m := compile(t, d)
	s := m.NewState(Seconds(1_000_000_000 / 30 * 30))
	x := m.Snapshot(&s)
	x.Sources[0].UnknownSec = 299
	x.Archives[1].CDPs[0].Unknown = 7
	if s, err = m.Import(x); err != nil {
		t.Fatal(err)
	}
	if got := m.Snapshot(&s); got.Sources[0].UnknownSec != 299 || got.Archives[1].CDPs[0].Unknown != 7 {
		t.Errorf("imported %+v", got)
	}
	if err := m.Check(&s); err != nil {
		t.Error(err)
	}
	var got []float64
	for i := range int64(6) {
		runs, err := m.Step(&s, x.LastUpdate+Seconds(10*(i+1)), []Value{Int(5)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			got = append(got, r.Value)
		}
	}
	nan := math.NaN()
	if want := []float64{nan, 5, 5, nan, 5, 5, 5, 5}; !slices.EqualFunc(got, want, sameFloat) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

// TestImportRefused: what a state cannot hold is an error that names the field.
func TestImportRefused(t *testing.T) {
	d, err := ParseDefinition(10, []string{"DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:3:3", "RRA:HWPREDICT:6:0.1:0.1:5"})
	if err != nil {
		t.Fatal(err)
	}
	m := compile(t, d)
	for field, damage := range map[string]func(*Snapshot){
		"last_update":                           func(x *Snapshot) { x.LastUpdate = -1 },
		"ds":                                    func(x *Snapshot) { x.Sources = nil },
		"rra":                                   func(x *Snapshot) { x.Archives = x.Archives[1:] },
		"ds[0].unknown_sec":                     func(x *Snapshot) { x.Sources[0].UnknownSec = 1 << 41 },
		"rra[0].cur_row":                        func(x *Snapshot) { x.Archives[0].CurRow = 3 },
		"rra[1].cdp_prep":                       func(x *Snapshot) { x.Archives[1].CDPs = nil },
		"rra[0].cdp_prep[0].unknown_datapoints": func(x *Snapshot) { x.Archives[0].CDPs[0].Unknown = -1 },
		"rra[2].rows":                           func(x *Snapshot) { x.Archives[2].Rows = x.Archives[2].Rows[1:] },
	} {
		s := m.NewState(Seconds(1_000_000_000))
		x := m.Snapshot(&s)
		damage(x)
		_, err := m.Import(x)
		var got *FieldError
		if !errors.As(err, &got) || got.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
