package rra

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/seeds"
)

// A series whose state was lost hands out the rows that it would have handed out, or unknown ones,
// whatever its xff, its step and the times of its readings are. A zero may have the other sign: of
// a PDP that begins with a reading rrdtool keeps the sign of the rate before, which was lost.
func TestResumeMakesNoOtherNumbers(t *testing.T) {
	r := seeds.Rand(t)
	known, unknown, resumed := 0, 0, 0
	for range 1000 {
		p := newTrial(r, false)
		if slices.ContainsFunc(p.def.Sources, func(s DataSource) bool { return strings.Contains(s.Expr, "/") }) {
			continue // the sign of a zero makes another infinity
		}
		m := compile(t, p.def)
		was, now := m.NewState(Seconds(p.start)), State{}
		lose, lost, failed := r.IntN(40), false, false
		n := 0
		p.each(func(at Time, values []Value, texts []string) {
			if failed {
				return
			}
			if n == lose {
				last := m.LastUpdate(was.W)
				now, lost = m.NewState(last-Seconds(r.Int64N(3)*r.Int64N(p.def.Step*20))), true
			}
			n++
			want, err := m.Step(&was, at, values, texts, nil)
			if err != nil { // some are changed by it
				failed = true
				return
			}
			if n <= lose {
				return
			}
			var got []Run
			if lost {
				var done bool
				if got, done, err = m.Resume(&now, at, values, texts, nil); done {
					lost = false
					resumed++
				}
			} else {
				got, err = m.Step(&now, at, values, texts, nil)
			}
			if err != nil {
				t.Fatalf("%v: at %d: %v", p.args, at, err)
			}
			type cell struct {
				stream, ds int32
				k          int64
			}
			rows := make(map[cell]float64)
			for _, x := range want {
				for k := range x.Count {
					rows[cell{x.Stream, x.DS, x.First + k}] = x.Value
				}
			}
			for _, x := range got {
				for k := range x.Count {
					v, ok := rows[cell{x.Stream, x.DS, x.First + k}]
					switch {
					case math.IsNaN(x.Value):
						unknown++
					case ok && v == x.Value:
						known++
					default:
						t.Fatalf("%v: at %d: stream %d source %d row %d is %v, it was %v (%v)", p.args, at, x.Stream, x.DS, x.First+k, x.Value, v, ok)
					}
				}
			}
		})
	}
	t.Logf("%d rows known, %d unknown, %d series resumed", known, unknown, resumed)
	if known == 0 || unknown == 0 || resumed == 0 {
		t.Error("nothing was tried")
	}
}
