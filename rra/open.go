package rra

import "math"

// Open returns what s knows of the seconds (from, to] behind the last PDP that has ended, up to the
// last update: it fills values with one value for each data source, NaN where nothing is known. A
// value is the mean of what is known of the open PDP. Without that it is the last reading of a
// GAUGE. If no whole second has passed since the last PDP, the seconds are the one before the last
// update, which that PDP may know: a rate at the end of a step is in the row of one step, if there
// is one. Wider rows are sums before they end, which do not show whether the last step is known.
func (m *Machine) Open(s *State, values []float64) (from, to int64) {
	last := m.LastUpdate(s.W)
	to = last.Unix()
	from = to - to%m.step
	elapsed := float64(to-from) + float64(last.Micro())/1e6
	for i := range m.sources {
		values[i] = m.openValue(s, i, elapsed, values[:i])
	}
	return min(from, to-1), to
}

// openValue is Open for data source i. before are the values of the sources before it.
func (m *Machine) openValue(s *State, i int, elapsed float64, before []float64) float64 {
	src := &m.sources[i]
	if src.compute {
		v, err := src.eval(before)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	sum, unknown := m.PDP(s, i)
	mean := sum / (elapsed - float64(unknown))
	if !(elapsed > float64(unknown)) {
		mean = math.NaN()
	}
	if src.kind != Gauge {
		return mean
	}
	v, texts := m.LastValue(s, i)
	if v.Tag == TagUnknown || startsUnknown(v, texts) {
		return mean
	}
	c := change{kind: Gauge, v: v, texts: texts}
	_, reading, err := c.amount(1)
	if err != nil || src.limited && (reading > src.max || reading < src.min) {
		return mean
	}
	// A mean of one reading is the reading, but for its rounding.
	if math.IsNaN(mean) || math.Abs(mean-reading) <= 1e-12*math.Abs(reading) {
		return reading
	}
	return mean
}
