package rra

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestSplit encodes and decodes the state between random samples: nothing may change.
func TestSplit(t *testing.T) {
	r := seedtest.Rand(t)
	for i := range 200 {
		p := newTrial(r, i%3 == 0)
		m := compile(t, p.def)
		whole := m.NewState(Seconds(p.start))
		split := m.NewState(Seconds(p.start))
		m.SmoothBy(whole.W, 12345)
		m.SmoothBy(split.W, 12345)
		n := 0
		p.each(func(at Time, values []Value, texts []string) {
			if r.IntN(3) == 0 {
				b, err := split.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				split = State{}
				if err := split.UnmarshalBinary(b); err != nil {
					t.Fatalf("%v: %v", p.args, err)
				}
				if err := m.Check(&split); err != nil {
					t.Fatalf("%v: %v", p.args, err)
				}
			}
			aRuns, aErr := m.Step(&whole, at, values, texts, nil)
			bRuns, bErr := m.Step(&split, at, values, texts, nil)
			if n++; n%3 == 0 {
				m.EndUpdate(&whole)
				m.EndUpdate(&split)
			}
			if fmt.Sprint(aErr) != fmt.Sprint(bErr) || !sameRuns(aRuns, bRuns) || !slices.Equal(whole.W, split.W) {
				t.Fatalf("%v: at %d: %v %v, split %v %v", p.args, at, aRuns, aErr, bRuns, bErr)
			}
		})
		a, _ := whole.MarshalBinary()
		b, _ := split.MarshalBinary()
		if !slices.Equal(a, b) {
			t.Fatalf("%v: states end apart", p.args)
		}
	}
}

// TestShape: machines that differ in data only share layout and streams.
func TestShape(t *testing.T) {
	a, b := benchDefinition(Counter, 2), benchDefinition(Gauge, 2)
	b.Sources[0].Heartbeat, b.Sources[1].Max, b.Sources[0].Name, b.Archives[3].XFF = 999, 5, "x", 0.9
	ma, mb := compile(t, a), compile(t, b)
	if ma.Shape() != mb.Shape() || ma.Words() != mb.Words() {
		t.Errorf("shapes %q and %q, words %d and %d", ma.Shape(), mb.Shape(), ma.Words(), mb.Words())
	}
	for name, change := range map[string]func(*Definition){
		"step":    func(d *Definition) { d.Step = 5 },
		"sources": func(d *Definition) { d.Sources = d.Sources[:1] },
		"cf":      func(d *Definition) { d.Archives[1].CF = Min },
		"pdps":    func(d *Definition) { d.Archives[1].PDPs = 7 },
		"rows":    func(d *Definition) { d.Archives[1].Rows = 7 },
		"one":     func(d *Definition) { d.Archives[0].CF = Last },
		"own":     func(d *Definition) { d.Archives[0].Own = true },
	} {
		d := benchDefinition(Counter, 2)
		change(d)
		if m := compile(t, d); m.Shape() == ma.Shape() {
			t.Errorf("%s: shape %q is the same", name, m.Shape())
		}
	}
}

// TestWords keeps the state of the series that DESIGN counts with small.
func TestWords(t *testing.T) {
	if n := 8 * compile(t, benchDefinition(Counter, 1)).Words(); n > 190 {
		t.Errorf("state of %d bytes, want at most 190", n)
	}
}

func TestStreams(t *testing.T) {
	d := benchDefinition(Gauge, 1)
	d.Archives = append(d.Archives, Archive{CF: Max, PDPs: 1, Rows: 500, Partner: -1})
	m := compile(t, d)
	if got := m.StreamOf(5); got != 0 || m.StreamOf(0) != 0 {
		t.Errorf("archives of one PDP a row are in streams %d and %d", m.StreamOf(0), got)
	}
	if s := m.Streams()[0]; s.Rows != 500 || !slices.Equal(s.Archives, []int{0, 5}) {
		t.Errorf("stream 0 is %+v", s)
	}
	if n := len(m.Streams()); n != 5 {
		t.Errorf("%d streams, want 5", n)
	}
}

// TestStepErrors: a refused reading leaves the state alone, but for ValueError.
func TestStepErrors(t *testing.T) {
	m := compile(t, benchDefinition(Counter, 2))
	s := m.NewState(Seconds(1000))
	before := s.Clone()
	var late *TimeError
	if _, err := m.Step(&s, Seconds(1000), []Value{Int(1), Int(2)}, nil, nil); !errors.As(err, &late) || late.Last != Seconds(1000) {
		t.Errorf("same time: %v", err)
	}
	var count *CountError
	if _, err := m.Step(&s, Seconds(1001), []Value{Int(1)}, nil, nil); !errors.As(err, &count) || count.Want != 2 {
		t.Errorf("one value for two data sources: %v", err)
	}
	if !slices.Equal(s.W, before.W) {
		t.Errorf("state changed")
	}
	var value *ValueError
	_, err := m.Step(&s, Seconds(1001), []Value{Int(7), {Tag: TagInvalid}}, []string{"x"}, nil)
	if !errors.As(err, &value) || value.DS != 1 || value.Err.Error() != "not a simple unsigned integer: 'x'" {
		t.Errorf("x for a counter: %v", err)
	}
	if a, b := m.LastReading(&s, 0), m.LastReading(&s, 1); a != "7" || b != "U" {
		t.Errorf("last readings %q and %q, want 7 and U", a, b)
	}
	if got := m.LastUpdate(s.W); got != Seconds(1000) {
		t.Errorf("last update %d", got)
	}
}

// TestStepAllocs: a plain reading allocates nothing.
func TestStepAllocs(t *testing.T) {
	m := compile(t, benchDefinition(Gauge, 2))
	s := m.NewState(Seconds(1000))
	now, values := int64(1000), []Value{Float(1.5), Int(3)}
	out := make([]Run, 0, 64)
	n := testing.AllocsPerRun(1000, func() {
		now += 10
		if _, err := m.Step(&s, Seconds(now), values, nil, out); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// TestGap: a week without a reading closes its rows as a few runs.
func TestGap(t *testing.T) {
	m := compile(t, benchDefinition(Gauge, 1))
	s := m.NewState(Seconds(1_000_000_000))
	if _, err := m.Step(&s, Seconds(1_000_000_010), []Value{Int(1)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	runs, err := m.Step(&s, Seconds(1_000_000_010+7*86400), []Value{Int(1)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for _, r := range runs {
		rows += r.Count
	}
	if len(runs) > 10 || rows != 360+1440+1440+1008+168 {
		t.Errorf("%d runs of %d rows: %v", len(runs), rows, runs)
	}
}

func compile(tb testing.TB, d *Definition) *Machine {
	tb.Helper()
	m, err := Compile(d)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func sameRuns(a, b []Run) bool {
	return slices.EqualFunc(a, b, func(a, b Run) bool {
		same := sameFloat(a.Value, b.Value)
		a.Value, b.Value = 0, 0
		return same && a == b
	})
}

// TestOwn: an archive that shares its rows with no other gets the same ones, and remembers the
// same.
func TestOwn(t *testing.T) {
	r := seedtest.Rand(t)
	owned := 0
	for i := range 300 {
		p := newTrial(r, i%5 == 0)
		d := *p.def
		d.Archives = slices.Clone(d.Archives)
		for i := range d.Archives {
			if a := &d.Archives[i]; a.CF.classical() && a.PDPs == 1 && r.IntN(2) == 0 {
				a.Own = true
				owned++
			}
		}
		shared, own := compile(t, p.def), compile(t, &d)
		a, b := shared.NewState(Seconds(p.start)), own.NewState(Seconds(p.start))
		p.each(func(at Time, values []Value, texts []string) {
			aRuns, aErr := shared.Step(&a, at, values, texts, nil)
			bRuns, bErr := own.Step(&b, at, values, texts, nil)
			if fmt.Sprint(aErr) != fmt.Sprint(bErr) || !slices.Equal(a.W, b.W) {
				t.Fatalf("%v: at %d: %v and %v, states %x and %x", p.args, at, aErr, bErr, a.W, b.W)
			}
			if got, want := fmt.Sprint(own.Rows(bRuns)), fmt.Sprint(shared.Rows(aRuns)); got != want {
				t.Fatalf("%v: at %d: rows %s, want %s", p.args, at, got, want)
			}
		})
	}
	if owned < 50 {
		t.Errorf("only %d archives had rows of their own", owned)
	}
}
