package rra

import (
	"math"
	"slices"
)

// A State is what a series remembers between readings. A copy of it shares words and texts with the
// original; use [State.Clone] for one that does not.
type State struct {
	W    []uint64 // Machine.Words words
	Text []string // last readings that must be kept as text, by data source; nil: there are none
}

// Clone returns a State that shares nothing with s.
func (s *State) Clone() State {
	return State{W: slices.Clone(s.W), Text: slices.Clone(s.Text)}
}

// NewState returns the state of a new series whose last update was at start, cut to a whole second.
func (m *Machine) NewState(start Time) State {
	s := State{W: make([]uint64, m.words)}
	m.Init(s.W, start)
	return s
}

// LastReading returns the last reading of a data source as rrdtool prints it (last_ds): "U" if
// there is no reading.
func (m *Machine) LastReading(s *State, ds int) string {
	v, texts := m.LastValue(s, ds)
	return FormatReading(v, texts)
}

// PDP returns the open primary data point of a data source: what it has gathered (rate times
// seconds) and how many of its seconds are unknown.
func (m *Machine) PDP(s *State, ds int) (value float64, unknownSec int64) {
	w := m.ds(s.W, ds)
	return math.Float64frombits(w[dsValue]), int64(w[dsMeta] >> 8)
}

// CurRow returns the row of an archive's ring that was written last, as rrdtool counts it: a new
// series begins with 0.
func (m *Machine) CurRow(s *State, archive int) int64 {
	a := &m.archives[archive]
	return (a.row(s.W) + m.countedFrom(s.W, a)) % a.rows
}

// A CDP is what an archive remembers of one data source. The CF of the archive decides which fields
// are in use.
type CDP struct {
	Value              float64 // AVERAGE, MIN, MAX, LAST: of the open row; NaN for DEVPREDICT
	Unknown            int64   // AVERAGE, MIN, MAX, LAST: unknown PDPs in the open row
	Primary, Secondary float64 // the rows that ended last: the first, and the others

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

// Init makes w, which has m.Words words, the state of a new series whose last update was at start,
// cut to a whole second and not before 1970.
func (m *Machine) Init(w []uint64, start Time) {
	w = w[:m.words]
	clear(w)
	sec := max(start.Unix(), 0)
	w[wordLast] = uint64(Seconds(sec))
	unknown := sec % m.step
	for d := range m.sources {
		ds := w[wordSources+dsWords*d:]
		ds[dsValue] = nanBits
		ds[dsMeta] = uint64(unknown)<<8 | uint64(TagUnknown)
	}
	for i := range m.archives {
		a := &m.archives[i]
		if !a.cf.classical() {
			a.initHoltWinters(w, len(m.sources))
			continue
		}
		for d := 0; d < len(m.sources) && a.n > 1; d++ {
			c := w[a.off+cdpWords*d:]
			c[cdpValue] = nanBits
			c[cdpMeta] = uint64((sec - unknown) % (m.step * a.n) / m.step)
		}
		a.setRow(w, -m.countedFrom(w, a))
	}
}

// nanBits is the NaN of fields that have no value yet.
var nanBits = math.Float64bits(math.NaN())

// LastUpdate returns the time of the last reading folded into w.
func (m *Machine) LastUpdate(w []uint64) Time { return Time(w[wordLast]) }

// LastValue returns the last reading of data source i, and the texts that it refers to.
func (m *Machine) LastValue(s *State, i int) (Value, []string) {
	ds := m.ds(s.W, i)
	v := Value{Bits: ds[dsBits], Tag: Tag(ds[dsMeta] & 0xff)}
	if v.Tag != TagText {
		return v, nil
	}
	v.Bits = 0
	if i >= len(s.Text) { // of empty texts alone nothing is kept
		return v, noText
	}
	return v, s.Text[i : i+1]
}

var noText = []string{""}

// initHoltWinters fills the words of an archive of a new series.
func (a *archive) initHoltWinters(w []uint64, nds int) {
	for d := range nds {
		c := a.cdp(w, d)
		switch a.cf {
		case HWPredict, MHWPredict:
			c[hwIntercept], c[hwLastIntercept], c[hwSlope], c[hwLastSlope] = nanBits, nanBits, nanBits, nanBits
			c[hwNulls], c[hwLastNulls] = 1, 1
		case Seasonal, DevSeasonal:
			c[hwSeasonal], c[hwLastSeasonal] = nanBits, nanBits
			c[hwBurnIn] = 1
		case DevPredict:
			c[hwValue] = nanBits
		}
	}
	if a.ring != 0 {
		ring := w[a.ring : a.ring+nds*int(a.rows)]
		for i := range ring {
			ring[i] = nanBits
		}
	}
}

// holtWintersCDP is CDP for the family.
func (a *archive) holtWintersCDP(w []uint64) CDP {
	c := w[:hwWords]
	f := func(i int) float64 { return math.Float64frombits(c[i]) }
	cdp := CDP{Primary: f(hwPrimary), Secondary: f(hwSecondary)}
	switch a.cf {
	case HWPredict, MHWPredict:
		cdp.Intercept, cdp.LastIntercept = f(hwIntercept), f(hwLastIntercept)
		cdp.Slope, cdp.LastSlope = f(hwSlope), f(hwLastSlope)
		cdp.NullCount, cdp.LastNullCount = int64(c[hwNulls]), int64(c[hwLastNulls])
	case Seasonal, DevSeasonal:
		cdp.Seasonal, cdp.LastSeasonal = f(hwSeasonal), f(hwLastSeasonal)
		cdp.InitFlag = int64(c[hwBurnIn])
	case DevPredict:
		cdp.Value = f(hwValue)
	case Failures:
		history := make([]byte, a.hw.def.Window)
		for j := range history {
			history[j] = '0' + historyByte(c, j)
		}
		cdp.History = string(history)
	}
	return cdp
}
