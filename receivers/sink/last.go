package sink

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Last is receivers.Sink's.
func (s *Sink) Last(_ context.Context, ref core.Ref) (at rra.Time, reading float64, err error) {
	info, err := s.store.Info(ref)
	if err != nil {
		return 0, 0, fmt.Errorf("last sample: %w", err)
	}
	at, reading = info.Machine.LastUpdate(info.State.W), math.NaN()
	for i := range info.Definition.Sources {
		if info.Definition.Sources[i].Kind == rra.Compute {
			continue
		}
		if v, err := strconv.ParseFloat(info.Machine.LastReading(&info.State, i), 64); err == nil {
			reading = v
		}
		break
	}
	return at, reading, nil
}

// Replace is receivers.Sink's.
func (s *Sink) Replace(ctx context.Context, rs []receivers.Replacement) error {
	copies := make([]core.Copy, 0, len(rs))
	of := make([]int, 0, len(rs)) // of[i] is the index in rs of copies[i]
	for i := range rs {
		r := &rs[i]
		var c core.Copy
		if c, r.Err = s.replacement(r); r.Err == nil {
			copies, of = append(copies, c), append(of, i)
		}
	}
	out, err := s.store.Import(ctx, copies, true)
	if err != nil {
		return fmt.Errorf("replace %d series: %w", len(copies), err)
	}
	reqs := make([]receivers.Request, 0, len(rs))
	for i, made := range out {
		r := &rs[of[i]]
		r.Ref, r.Definition, r.Err = made.Ref, copies[i].Definition, made.Err
		reqs = append(reqs, r.Request)
	}
	s.roll.enter(reqs, s.o.Now())
	return nil
}

// replacement returns the series as it would be if it had been made with its new definition.
func (s *Sink) replacement(r *receivers.Replacement) (core.Copy, error) {
	d, err := s.Policy().DefineRequest(&r.Request)
	if err != nil {
		return core.Copy{}, err
	}
	m, err := rra.Compile(d)
	if err != nil {
		return core.Copy{}, err
	}
	state := m.NewState(rra.Seconds(r.Time.Unix() - 1))
	rows := make([][]float64, len(d.Archives))
	for _, x := range r.Samples {
		runs, err := m.Step(&state, x.At, []rra.Value{x.Value}, nil, nil)
		if err != nil {
			return core.Copy{}, err
		}
		for _, row := range m.Rows(runs) {
			all := append(rows[row.Archive], row.Values...)
			most := min(int64(len(all)), d.Archives[row.Archive].Rows*int64(len(d.Sources)))
			rows[row.Archive] = all[int64(len(all))-most:]
		}
	}
	return core.Copy{Path: r.Path, Labels: labels(&r.Request), Definition: d, State: state, Rows: rows}, nil
}
