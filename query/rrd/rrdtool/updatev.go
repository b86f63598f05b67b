package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// updatev stores samples and prints the rows that they close. It finds these rows by stepping a
// copy of the state, because a store does not report the rows of SEASONAL archives.
func (c *command) updatev(args []string) error {
	u, args, err := c.newUpdating(args, updatevOptions)
	if err != nil {
		return err
	}
	var t *trace
	err = u.open()
	if err == nil {
		then := u.read(args)
		var info core.Info
		if info, err = u.Store.Info(u.ref); err == nil {
			t = &trace{out: c.out, locale: &c.locale, exact: c.exact, m: info.Machine, state: info.State.Clone()}
			if err = t.check(u); err == nil {
				err = u.store(then)
			}
		} else {
			err = named(u.name, err)
		}
	}
	value := 0
	if t != nil && errors.Is(err, errTraced) {
		t = nil
	}
	if err != nil {
		value = -1
	}
	c.printf("return_value = %d\n", value)
	if t == nil {
		return err
	}
	return cmp.Or(err, t.run(u))
}

// A trace follows samples through a copy of the state and prints the rows that they close.
type trace struct {
	out    *bufio.Writer
	locale *locale
	exact  bool // print values in full
	m      *rra.Machine
	state  rra.State
	runs   []rra.Run
	ring   []float64
	line   []byte
}

// errTraced says that a command would print too many values.
var errTraced = errors.New("too many values of closed rows to print")

// check refuses a command that would print more values than a fetch may return. It runs before
// anything is stored.
func (t *trace) check(u *updating) error {
	if n := t.count(u, t.m.LastUpdate(t.state.W)); n > core.MaxFetchRows {
		return fmt.Errorf("%s: %w: %d, at most %d are possible (update stores the same and prints nothing)", u.name, errTraced, n, core.MaxFetchRows)
	}
	return nil
}

// count returns how many values run prints at most. It stops counting when there are too many.
func (t *trace) count(u *updating, last rra.Time) (n int64) {
	add := func(from, to, after, at int64) error {
		for i := range t.m.Definition().Archives {
			n += t.rows(i, from, to) * int64(len(t.m.Definition().Sources))
		}
		return nil
	}
	for x := range u.batch.All() {
		if n > core.MaxFetchRows {
			return n
		}
		if x.At <= last {
			if u.batch.SkipPast {
				continue
			}
			return n
		}
		_ = t.phases(last, x.At, add) // add does not fail
		last = x.At
	}
	return n
}

// run steps the samples of u up to the first that is refused, and prints the rows.
func (t *trace) run(u *updating) error {
	for x := range u.batch.All() {
		last := t.m.LastUpdate(t.state.W)
		var err error
		t.runs, err = t.m.Step(&t.state, x.At, x.Values, x.Texts, t.runs[:0])
		if _, late := err.(*rra.TimeError); late && u.batch.SkipPast {
			continue
		}
		if err != nil {
			break
		}
		if err := t.phases(last, x.At, t.phase); err != nil {
			return err
		}
	}
	return nil
}

// phases calls phase with the steps between two samples. If there are several, the open primary
// data point is closed in a phase of its own.
func (t *trace) phases(last, at rra.Time, phase func(from, to, after, at int64) error) error {
	step := t.m.Definition().Step
	from, to := floorDiv(last.Unix(), step), floorDiv(at.Unix(), step)
	if from == to {
		return nil
	}
	if to-from > 1 {
		whole := float64(to*step-last.Unix()) - float64(last.Micro())/1e6
		if part := int64(whole) % step; part > 0 {
			if err := phase(from, from+1, to-from-1, last.Unix()+part); err != nil {
				return err
			}
			from++
		}
	}
	return phase(from, to, 0, at.Unix())
}

// rows returns how many rows of an archive rrdtool prints when it closes the steps between from and
// to at once. It prints no seasonal rows for a gap.
func (t *trace) rows(archive int, from, to int64) int64 {
	a := &t.m.Definition().Archives[archive]
	elapsed, open := to-from, a.PDPs-mod(from, a.PDPs)
	if elapsed < open || t.m.StreamOf(archive) < 0 && elapsed > 1 {
		return 0
	}
	return min((elapsed-open)/a.PDPs+1, a.Rows)
}

// phase prints the rows of the steps between from and to, which rrdtool closes at once. after is
// the number of steps that follow in another phase. at is the time at which rrdtool lets the phase
// end: it counts the time of the first row back from there, and the times of the other rows one row
// too far.
func (t *trace) phase(from, to, after, at int64) error {
	d := t.m.Definition()
	for i := range d.Archives {
		a := &d.Archives[i]
		rows, stream := t.rows(i, from, to), t.m.StreamOf(i)
		step := d.Step * a.PDPs
		first, shown := floorDiv(to, a.PDPs)-rows+1, at-mod(at, step)-(rows-1)*step
		for row := range rows {
			if row == 1 {
				shown += step
			}
			for ds := range d.Sources {
				v := t.value(i, stream, ds, first+row, after)
				t.line = fmt.Appendf(t.line[:0], "[%d]RRA[%s][%d]DS[%s] = ", shown, a.CF, a.PDPs, d.Sources[ds].Name)
				if t.exact {
					t.line = appendExact(t.line, v)
				} else {
					n := len(t.line)
					t.line = t.locale.local(append(t.line, infoValue(v)...), n)
				}
				t.line = append(t.line, '\n')
				if _, err := t.out.Write(t.line); err != nil {
					return err
				}
			}
			shown += step
		}
	}
	return nil
}

// value returns the value of row k of an archive. Seasonal rows are in the state. A gap moves their
// ring forward by after rows without writing, at most a whole turn.
func (t *trace) value(archive, stream, ds int, k, after int64) float64 {
	if stream < 0 {
		t.ring = t.m.RingRow(&t.state, archive, ds, t.ring[:0])
		n := int64(len(t.ring))
		return t.ring[mod(n-1-min(after, n), n)]
	}
	for i := len(t.runs) - 1; i >= 0; i-- {
		r := &t.runs[i]
		if int(r.Stream) == stream && int(r.DS) == ds && k >= r.First && k < r.First+r.Count {
			return r.Value
		}
	}
	return math.NaN()
}

func floorDiv(a, b int64) int64 { return (a - mod(a, b)) / b }

func mod(a, b int64) int64 {
	r := a % b
	if r < 0 {
		r += b
	}
	return r
}
