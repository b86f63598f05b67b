package rra

import "math"

// The Holt-Winters family predicts a series and notices when it behaves otherwise. The method is
// exponential smoothing by Holt (1957) and Winters (1960: "Forecasting Sales by Exponentially
// Weighted Moving Averages"). Its use for finding aberrant behaviour, the archives and the names of
// their parameters are Brutlag's (2000: "Aberrant Behavior Detection in Time Series for Network
// Monitoring", LISA XIV), as rrdtool 1.7.2 computes them.
//
//   - HWPREDICT predicts each PDP as intercept + slope + seasonal coefficient. MHWPREDICT
//     multiplies with the coefficient instead of adding it. alpha is the rate at which the
//     intercept follows the series, beta how fast the slope does.
//   - SEASONAL keeps one coefficient for each step of a season. gamma is the rate at which they
//     follow the series.
//   - DEVSEASONAL keeps one deviation for each step of a season: how far the prediction was off.
//   - DEVPREDICT keeps the deviation that is expected of each PDP.
//   - FAILURES is 1 for a PDP if at least threshold of the last window PDPs were violations. A
//     violation lies outside prediction − deltaneg·deviation … prediction + deltapos·deviation.
//
// The archives see each PDP in their order. An archive that needs a field of another takes the
// value from before the PDP: the current field if the other comes later in the order and has not
// seen the PDP yet, or else the last_ field, which the other saved when it saw the PDP. So the
// order of the archives changes the results, as it does in rrdtool.
//
// The rows of SEASONAL and DEVSEASONAL are part of the state. A coefficient is read one step ahead,
// updated, and written back. From time to time all of them are smoothed (smooth.go).

// holtWinters folds elapsed equal PDPs into all archives of the family. first is the number of the
// first PDP. The rows are appended to out.
func (m *Machine) holtWinters(w []uint64, pdp []float64, first, elapsed int64, out []Run) []Run {
	switch {
	case elapsed > 2:
		for i := range m.archives {
			if a := &m.archives[i]; !a.cf.classical() {
				m.skip(w, i, elapsed)
			}
		}
	default:
		slot := hwPrimary
		for pass := int64(1); pass <= elapsed; pass++ {
			for i := range m.archives {
				if !m.archives[i].cf.classical() {
					m.fold(w, i, pdp, elapsed+pass, slot)
				}
			}
			slot = hwSecondary
		}
	}
	for i := range m.archives {
		if a := &m.archives[i]; !a.cf.classical() {
			out = m.writeRows(w, a, len(pdp), first, elapsed, out)
		}
	}
	return out
}

// writeRows appends the rows of an archive to out, or writes them into its ring, and moves the
// current row.
func (m *Machine) writeRows(w []uint64, a *archive, nds int, first, elapsed int64, out []Run) []Run {
	if a.ring != 0 {
		cur := a.row(w)
		if elapsed == 1 {
			for d := range nds {
				*a.cell(w, nds, cur+1, d) = a.cdp(w, d)[hwPrimary]
			}
		}
		a.passRows(w, elapsed)
		return out
	}
	rows := min(elapsed, a.rows)
	k := first + elapsed - rows + 1
	for d := range nds {
		c := a.cdp(w, d)
		out = append(out, Run{a.stream, int32(d), k, 1, math.Float64frombits(c[hwPrimary])})
		if rows > 1 {
			out = append(out, Run{a.stream, int32(d), k + 1, rows - 1, math.Float64frombits(c[hwSecondary])})
		}
	}
	a.advance(w, rows)
	return out
}

// skip passes over more than two PDPs. The model learns nothing from them.
func (m *Machine) skip(w []uint64, i int, elapsed int64) {
	a := &m.archives[i]
	nds := len(m.sources)
	for d := range nds {
		c := a.cdp(w, d)
		switch a.cf {
		case HWPredict, MHWPredict:
			c[hwNulls] += uint64(elapsed)
			c[hwLastNulls] += uint64(elapsed) - 1
			c[hwPrimary], c[hwSecondary] = nanBits, nanBits
		case DevPredict:
			c[hwPrimary], c[hwSecondary] = nanBits, nanBits
		case Seasonal, DevSeasonal:
			c[hwLastSeasonal] = *a.cell(w, nds, a.row(w)+elapsed, d)
			c[hwSeasonal] = *a.cell(w, nds, a.row(w)+elapsed+1, d)
		case Failures:
			clear(c[hwHistory : hwHistory+4])
			c[hwPrimary], c[hwSecondary] = 0, 0
		}
	}
}

// fold folds one PDP into archive i. slot is the word that the row is written to, hwPrimary or
// hwSecondary. ahead is how many rows after the current one the next coefficient is read.
func (m *Machine) fold(w []uint64, i int, pdp []float64, ahead int64, slot int) {
	a := &m.archives[i]
	nds := len(m.sources)
	for d, v := range pdp {
		c := a.cdp(w, d)
		var row float64
		switch a.cf {
		case HWPredict, MHWPredict:
			row = m.foldModel(w, i, d, c, v)
		case Seasonal:
			old := shiftSeasonal(c, *a.cell(w, nds, a.row(w)+ahead, d))
			row = m.foldSeasonal(w, i, d, old, v)
		case DevSeasonal:
			old := shiftSeasonal(c, *a.cell(w, nds, a.row(w)+ahead, d))
			row = m.foldDeviation(w, i, d, old, v)
		case DevPredict:
			row = m.deviation(w, i, d)
		case Failures:
			row = m.foldFailures(w, i, d, c, v)
		}
		c[slot] = math.Float64bits(row)
	}
}

// shiftSeasonal takes the next coefficient, and returns the one taken before.
func shiftSeasonal(c []uint64, next uint64) float64 {
	c[hwLastSeasonal] = c[hwSeasonal]
	c[hwSeasonal] = next
	return math.Float64frombits(c[hwLastSeasonal])
}

// field returns a field of a partner of archive i as it was before the PDP: the word current, or
// last if the partner has seen the PDP.
func (m *Machine) field(w []uint64, i, partner, d, current, last int) uint64 {
	c := m.archives[partner].cdp(w, d)
	if partner < i {
		return c[last]
	}
	return c[current]
}

// seasonalOf returns the seasonal coefficient of the PDP, for archive i.
func (m *Machine) seasonalOf(w []uint64, i, d int) float64 {
	return math.Float64frombits(m.field(w, i, m.archives[i].hw.season, d, hwSeasonal, hwLastSeasonal))
}

// deviation returns the row of DEVPREDICT archive i.
func (m *Machine) deviation(w []uint64, i, d int) float64 {
	return math.Float64frombits(m.field(w, i, m.archives[i].hw.dev, d, hwSeasonal, hwLastSeasonal))
}

// predict returns the model's prediction of the PDP, as archive i sees it. ok is false if the model
// has not learned enough.
func (m *Machine) predict(w []uint64, i, d int) (v float64, ok bool) {
	h := &m.archives[i].hw
	intercept := math.Float64frombits(m.field(w, i, h.model, d, hwIntercept, hwLastIntercept))
	slope := math.Float64frombits(m.field(w, i, h.model, d, hwSlope, hwLastSlope))
	nulls := m.field(w, i, h.model, d, hwNulls, hwLastNulls)
	seasonal := m.seasonalOf(w, i, d)
	ok = !math.IsNaN(intercept) && !math.IsNaN(slope) && !math.IsNaN(seasonal)
	return h.prediction(intercept, slope, seasonal, nulls), ok
}

// prediction returns the prediction for the fields of the model.
func (h *holtWinters) prediction(intercept, slope, seasonal float64, nulls uint64) float64 {
	base := intercept + float64(slope*float64(nulls))
	if h.multiply {
		return base * seasonal
	}
	return base + seasonal
}

// nextIntercept returns the intercept after the PDP v.
func (h *holtWinters) nextIntercept(v, seasonal, intercept, slope float64, nulls uint64) float64 {
	level := v - seasonal
	if h.multiply {
		if level = v / seasonal; seasonal <= 0 {
			return math.NaN()
		}
	}
	return float64(h.alpha*level) + float64((1-h.alpha)*(intercept+float64(slope*float64(nulls))))
}

// foldModel is fold for HWPREDICT and MHWPREDICT: the row is the prediction.
func (m *Machine) foldModel(w []uint64, i, d int, c []uint64, v float64) float64 {
	h := &m.archives[i].hw
	c[hwLastIntercept], c[hwLastSlope], c[hwLastNulls] = c[hwIntercept], c[hwSlope], c[hwNulls]
	intercept, slope := math.Float64frombits(c[hwIntercept]), math.Float64frombits(c[hwSlope])
	seasonal := m.seasonalOf(w, i, d)
	if math.IsNaN(intercept) || math.IsNaN(slope) || math.IsNaN(seasonal) {
		if math.IsNaN(intercept) && !math.IsNaN(v) {
			c[hwIntercept], c[hwLastIntercept] = math.Float64bits(v), math.Float64bits(v)
			c[hwSlope], c[hwLastSlope] = 0, 0
			c[hwNulls], c[hwLastNulls] = 1, 1
		}
		return math.NaN()
	}
	row := h.prediction(intercept, slope, seasonal, c[hwNulls])
	if math.IsNaN(v) {
		c[hwNulls]++
		return row
	}
	next := h.nextIntercept(v, seasonal, intercept, slope, c[hwNulls])
	c[hwIntercept] = math.Float64bits(next)
	c[hwSlope] = math.Float64bits(float64(h.beta*(next-intercept)) + float64((1-h.beta)*slope))
	c[hwNulls] = 1
	return row
}

// foldSeasonal is fold for SEASONAL: the row is the new coefficient.
func (m *Machine) foldSeasonal(w []uint64, i, d int, old, v float64) float64 {
	if math.IsNaN(v) {
		return old
	}
	h := &m.archives[i].hw
	c := m.archives[h.model].cdp(w, d)
	intercept := math.Float64frombits(c[hwIntercept])
	if h.model < i {
		last, lastSlope := math.Float64frombits(c[hwLastIntercept]), math.Float64frombits(c[hwLastSlope])
		switch {
		case math.IsNaN(last) || math.IsNaN(lastSlope):
			return math.NaN()
		case math.IsNaN(old):
			return h.relative(v, last)
		}
		return h.blend(h.relative(v, intercept), old)
	}
	slope := math.Float64frombits(c[hwSlope])
	switch {
	case math.IsNaN(intercept) || math.IsNaN(slope):
		if h.multiply {
			return 1
		}
		return 0
	case math.IsNaN(old):
		return h.relative(v, intercept)
	}
	return h.blend(h.relative(v, h.nextIntercept(v, old, intercept, slope, c[hwNulls])), old)
}

// relative returns v relative to an intercept: the difference, or the quotient for MHWPREDICT.
func (h *holtWinters) relative(v, intercept float64) float64 {
	if !h.multiply {
		return v - intercept
	}
	if intercept <= 0 {
		return math.NaN()
	}
	return v / intercept
}

// blend moves an old coefficient towards a new one.
func (h *holtWinters) blend(v, old float64) float64 {
	return float64(h.gamma*v) + float64((1-h.gamma)*old)
}

// foldDeviation is fold for DEVSEASONAL: the row is the new deviation.
func (m *Machine) foldDeviation(w []uint64, i, d int, old, v float64) float64 {
	predicted, ok := m.predict(w, i, d)
	if !ok {
		return math.NaN()
	}
	if math.IsNaN(v) {
		return old
	}
	off := math.Abs(predicted - v)
	if math.IsNaN(old) {
		return off
	}
	return m.archives[i].hw.blend(off, old)
}

// foldFailures is fold for FAILURES: the row is 1 if enough of the last PDPs were violations.
func (m *Machine) foldFailures(w []uint64, i, d int, c []uint64, v float64) float64 {
	a := &m.archives[i]
	h := &a.hw
	// As in rrdtool, the place of SEASONAL and not of DEVSEASONAL decides which deviation is taken.
	c2 := m.archives[h.dev].cdp(w, d)
	dev := math.Float64frombits(c2[hwSeasonal])
	if h.season < i {
		dev = math.Float64frombits(c2[hwLastSeasonal])
	}
	violation := byte(0)
	switch predicted, _ := m.predict(w, i, d); {
	case math.IsNaN(dev):
	case math.IsNaN(v):
		violation = 1
	case v > predicted+float64(h.def.DeltaPos*dev) || v < predicted-float64(h.def.DeltaNeg*dev):
		violation = 1
	}
	n, sum := h.def.Window, 0
	for j := n - 1; j >= 0; j-- {
		b := violation
		if j > 0 {
			b = historyByte(c, j-1)
		}
		setHistoryByte(c, j, b)
		sum += int(b)
	}
	if sum >= h.def.Threshold {
		return 1
	}
	return 0
}
