package rra

import (
	"math"
	"slices"
)

// A State is what a series remembers between readings. It may be copied; the
// copy shares the words and texts until [State.Clone].
type State struct {
	W    []uint64 // Machine.Words words
	Text []string // last readings that must be kept as text, by data source; nil: none
}

// Clone returns a State that shares nothing with s.
func (s *State) Clone() State {
	return State{W: slices.Clone(s.W), Text: slices.Clone(s.Text)}
}

// NewState returns the state of a new series whose last update was at start,
// cut to a whole second.
func (m *Machine) NewState(start Time) State {
	s := State{W: make([]uint64, m.words)}
	m.Init(s.W, start)
	return s
}

// LastReading returns the last reading of a data source as rrdtool prints it
// (last_ds): "U" if there is none.
func (m *Machine) LastReading(s *State, ds int) string {
	v, texts := m.lastValue(s, ds)
	return FormatReading(v, texts)
}

// PDP returns the open primary data point of a data source: what it has gathered
// and how many of its seconds are unknown.
func (m *Machine) PDP(s *State, ds int) (value float64, unknownSec int64) {
	w := m.ds(s.W, ds)
	return math.Float64frombits(w[dsValue]), int64(w[dsMeta] >> 8)
}

// CurRow returns the row of the archive's ring that was written last, as
// rrdtool counts it: a new series begins with 0.
func (m *Machine) CurRow(s *State, archive int) int64 {
	a := &m.archives[archive]
	return int64(s.W[a.cur] >> a.shift & 0xffffffff)
}

// A CDP is what an archive remembers of one data source. Which fields mean
// something depends on the CF.
type CDP struct {
	Value              float64 // AVERAGE, MIN, MAX, LAST; NaN for DEVPREDICT
	Unknown            int64   // the same: unknown PDPs in the open row
	Primary, Secondary float64

	// HWPREDICT, MHWPREDICT
	Intercept, LastIntercept float64
	Slope, LastSlope         float64
	NullCount, LastNullCount int64

	// SEASONAL, DEVSEASONAL
	Seasonal, LastSeasonal float64
	InitFlag               int64 // burn-in cycles still to be smoothed

	History string // FAILURES: "0" or "1" for each of the window's last PDPs, newest first
}

// CDP returns what an archive remembers of a data source.
func (m *Machine) CDP(s *State, archive, ds int) CDP {
	a := &m.archives[archive]
	w := s.W[a.off+a.stride*ds:]
	switch {
	case !a.cf.classical():
		return a.holtWintersCDP(w)
	case a.n == 1:
		return CDP{
			Value:   math.NaN(),
			Primary: math.Float64frombits(w[onePrimary]), Secondary: math.Float64frombits(w[oneSecondary]),
		}
	}
	return CDP{
		Value:   math.Float64frombits(w[cdpValue]),
		Unknown: int64(w[cdpMeta] & 0xffffffff),
		Primary: math.Float64frombits(w[cdpPrimary]), Secondary: math.Float64frombits(w[cdpSecondary]),
	}
}
