package transfer_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/rra"
)

// A point is a point of Whisper.
type point struct {
	at uint32
	v  float64
}

// wsp returns a file of Whisper. archives hold step, number of points, and points in their places.
func wsp(way uint32, xff float32, archives ...wspArchive) []byte {
	be := binary.BigEndian
	b := be.AppendUint32(be.AppendUint32(nil, way), 0)
	b = be.AppendUint32(be.AppendUint32(b, math.Float32bits(xff)), uint32(len(archives)))
	at := len(b) + 12*len(archives)
	for _, a := range archives {
		b = be.AppendUint32(be.AppendUint32(be.AppendUint32(b, uint32(at)), a.step), uint32(len(a.points)))
		at += 12 * len(a.points)
	}
	for _, a := range archives {
		for _, p := range a.points {
			b = be.AppendUint64(be.AppendUint32(b, p.at), math.Float64bits(p.v))
		}
	}
	return b
}

type wspArchive struct {
	step   uint32
	points []point
}

// ringOf returns the archive of the newest n of points at their places, the first at the
// beginning.
func ringOf(step uint32, n int, points ...point) wspArchive {
	a := wspArchive{step, make([]point, n)}
	for _, p := range points {
		a.points[int(p.at-points[0].at)/int(step)%n] = p
	}
	return a
}

// TestWhisperAsReceived: a series of a file of Whisper is the one that a receiver has made of the
// same points: definition, finest rows, open row and last update, and what comes later makes the
// same rows of both.
func TestWhisperAsReceived(t *testing.T) {
	const begin = 1_700_000_040 // of a minute
	for way, cf := range map[uint32]string{1: "AVERAGE", 3: "LAST", 4: "MAX", 5: "MIN"} {
		s := enginetest.Open(t)
		d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:20:U:U", "RRA:" + cf + ":0.7:1:12", "RRA:" + cf + ":0.7:6:4"})
		if err != nil {
			t.Fatal(err)
		}
		received, err := s.Create(t.Context(), core.Spec{Path: "received", Definition: d, Start: rra.Seconds(begin)})
		if err != nil {
			t.Fatal(err)
		}
		value := func(i int) float64 { return float64(i*i%11) + 0.25 }
		var b core.Batch
		var points []point
		for i := 1; i <= 21; i++ {
			b.Add(received, rra.Seconds(begin+10*int64(i)), rra.Float(value(i)))
			points = append(points, point{uint32(begin + 10*i), value(i)})
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		data := wsp(way, 0.3, ringOf(10, 12, points...), ringOf(60, 4, point{begin, 1}, point{begin + 60, 2}, point{begin + 120, 3}, point{begin + 180, 4}))
		if r := imported(t, s, transfer.Options{}, transfer.Item{Path: "imported", Data: data})["imported"]; r.Outcome != transfer.Imported {
			t.Fatalf("%s: %v", cf, r.Err)
		}
		ref, err := s.Lookup("imported")
		if err != nil {
			t.Fatal(err)
		}
		same := func(archive int, start, end int64) {
			t.Helper()
			one, err := s.Fetch(t.Context(), received, archive, start, end)
			two, e := s.Fetch(t.Context(), ref, archive, start, end)
			if err != nil || e != nil || !equal(one.Values, two.Values) {
				t.Errorf("%s: archive %d from %d: received %v, imported %v: %v %v", cf, archive, start-begin, one.Values, two.Values, err, e)
			}
		}
		same(0, begin+90, begin+210)
		one, two := stateOf(t, s, received), stateOf(t, s, ref)
		if one.String() != two.String() || one.last != two.last || one.open.Value != two.open.Value || one.open.Unknown != two.open.Unknown || one.reading != two.reading {
			t.Errorf("%s: received %+v, imported %+v", cf, one, two)
		}
		rows, err := s.Fetch(t.Context(), ref, 1, begin, begin+180)
		if want := []float64{1, 2, 3}; err != nil || !equal(rows.Values, want) {
			t.Errorf("%s: coarse rows %v, want %v: %v", cf, rows.Values, want, err)
		}
		var later core.Batch
		for i := 22; i <= 24; i++ {
			later.Add(received, rra.Seconds(begin+10*int64(i)), rra.Float(value(i)))
			later.Add(ref, rra.Seconds(begin+10*int64(i)), rra.Float(value(i)))
		}
		if err := s.Append(t.Context(), &later); err != nil {
			t.Fatal(err)
		}
		same(1, begin+180, begin+240)
	}
}

// A whisperState is what is compared of the state of a series.
type whisperState struct {
	*rra.Definition
	last    rra.Time
	reading string
	open    rra.CDP
}

func stateOf(t *testing.T, s *core.Store, ref core.Ref) whisperState {
	t.Helper()
	x, err := s.Info(ref)
	if err != nil {
		t.Fatal(err)
	}
	return whisperState{x.Definition, x.Machine.LastUpdate(x.State.W), x.Machine.LastReading(&x.State, 0), x.Machine.CDP(&x.State, 1, 0)}
}

// TestWhisperStrange: a file without a point is a series without values, and a sum is a row's mean
// times its steps.
func TestWhisperStrange(t *testing.T) {
	s := enginetest.Open(t)
	sums := wsp(2, 0.5, ringOf(10, 6, point{600, 5}, point{610, 7}, point{630, 1}, point{650, 3}, point{660, 2}), ringOf(60, 3, point{600, 18}))
	out := imported(t, s, transfer.Options{Labels: []core.Label{{Name: "site", Value: "x"}}},
		transfer.Item{Path: "empty", Data: wsp(1, 0, ringOf(10, 6), ringOf(60, 3))},
		transfer.Item{Path: "sums", Data: sums, Labels: []core.Label{{Name: "site", Value: "own"}, {Name: "own", Value: "y"}}})
	for path, r := range out {
		if r.Outcome != transfer.Imported {
			t.Fatalf("%s: %v", path, r.Err)
		}
	}
	ref, err := s.Lookup("sums")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Fetch(t.Context(), ref, 1, 600, 660)
	if err != nil || !equal(rows.Values, []float64{3}) {
		t.Errorf("the row of a sum of 18 in six steps: %v, %v", rows.Values, err)
	}
	x, err := s.Series(ref)
	if err != nil || core.LabelValue(x.Labels, "site") != "x" || core.LabelValue(x.Labels, "own") != "y" || len(x.Labels) != 2 {
		t.Errorf("labels %v, %v", x.Labels, err)
	}
	if ref, err = s.Lookup("empty"); err != nil {
		t.Fatal(err)
	}
	if last, err := s.Last(ref); err != nil || last != 0 {
		t.Errorf("the last update of nothing is at %v, %v", last, err)
	}
}

// TestWhisperHostile: a file that is cut off or lies says what is wrong, and takes no memory for
// it.
func TestWhisperHostile(t *testing.T) {
	good := wsp(1, 0.5, ringOf(10, 6, point{600, 5}), ringOf(60, 3, point{600, 18}))
	word := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}
	s := enginetest.Open(t)
	for _, tt := range []struct {
		data []byte
		want string
	}{
		{good[:len(good)-1], "archive 1: cut off: it ends at byte 148, the file at 147"},
		{good[:60], "archive 0: cut off: it ends at byte 112, the file at 60"},
		{good[:30], "cut off: the list of 2 archives ends at byte 40, the file at 30"},
		{word(24, math.MaxUint32), "archive 0: cut off: it ends at byte 51539607580, the file at 148"},
		{word(36, 0), "archive 1: 0 points of 60 seconds"},
		{word(28, 40), "archive 1: offset 40, the part before it ends at 112"},
		{word(32, 65), "archive 1: points of 65 seconds are no multiple of 10"},
		{word(32, 10), "archive 1: points of 10 seconds are no multiple of 10"},
		{word(40, 601), "archive 0: its first point is of second 601, which is no multiple of 10"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := imported(t, s, transfer.Options{}, transfer.Item{Path: "x", Data: tt.data})["x"]
		runtime.ReadMemStats(&after)
		if r.Err == nil || r.Err.Error() != "a file of Whisper: "+tt.want {
			t.Errorf("%v, want %s", r.Err, tt.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes were taken", tt.want, n)
		}
	}
	for n := range good {
		if r := imported(t, s, transfer.Options{}, transfer.Item{Path: "x", Data: good[:n]})["x"]; r.Outcome != transfer.Failed {
			t.Errorf("the first %d bytes: %v", n, r.Outcome)
		}
	}
}
