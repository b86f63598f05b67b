package rra

import "math"

// The Holt-Winters family predicts a series as intercept + slope + seasonal
// coefficient, the last one kept for each step of a season (HWPREDICT), or as
// their product (MHWPREDICT). DEVSEASONAL keeps how far the prediction was off
// at each step of a season, DEVPREDICT how far it is expected to be off, and
// FAILURES whether it was off by too much, too often.
//
// All see the same PDP, in the order of the archives. What one needs of another
// is therefore taken from the other's current fields if that stands later (it has
// not seen the PDP yet) and from its last_ fields, saved as it saw the PDP, if it
// stands earlier. So the order of the archives changes the results, as in rrdtool.
//
// SEASONAL and DEVSEASONAL keep their rows in the state: the coefficient for a
// step is read a step ahead, changed, and written back, and all of them are
// smoothed from time to time (smooth.go).

// Words of an archive of the family and data source. They are as rrdtool lays
// its ten scratch values out, so that the two can be compared whole.
const (
	hwWords = 10

	hwValue         = 0 // DEVPREDICT: NaN, always
	hwHistory       = 0 // FAILURES: four words, one byte a PDP
	hwIntercept     = 2 // HWPREDICT, MHWPREDICT
	hwLastIntercept = 3
	hwSlope         = 4
	hwLastSlope     = 5
	hwNulls         = 6
	hwLastNulls     = 7
	hwSeasonal      = 2 // SEASONAL, DEVSEASONAL
	hwLastSeasonal  = 3
	hwBurnIn        = 6
	hwPending       = 7 // data source 0: see smooth.go
	hwPrimary       = 8
	hwSecondary     = 9
)

// maxWindow is the longest history that FAILURES can have.
const maxWindow = 28

// A holtWinters is what an archive of the family knows of its partners.
type holtWinters struct {
	multiply bool    // the model is MHWPREDICT
	alpha    float64 // of the model
	beta     float64
	gamma    float64
	window   float64 // smoothing window
	model    int     // archive: HWPREDICT or MHWPREDICT
	season   int     // archive: SEASONAL of the model
	dev      int     // archive: DEVSEASONAL
	def      *Archive
}

func (m *Machine) compileHoltWinters(i int) {
	a, d := &m.archives[i], &m.def.Archives[i]
	if d.CF.classical() {
		return
	}
	h := holtWinters{gamma: d.Gamma, window: d.SmoothingWindow, def: d}
	if math.IsNaN(h.window) {
		h.window = defaultSmoothing
	}
	switch d.CF {
	case HWPredict, MHWPredict:
		h.model, h.season = i, d.Partner
	case Seasonal:
		h.model, h.season = d.Partner, i
	case DevSeasonal:
		h.model, h.dev = d.Partner, i
	case DevPredict, Failures:
		h.dev = d.Partner
		h.model = m.def.Archives[h.dev].Partner
	}
	model := &m.def.Archives[h.model]
	if d.CF != Seasonal {
		h.season = model.Partner
	}
	h.multiply = model.CF == MHWPredict
	h.alpha, h.beta = model.Alpha, model.Beta
	a.hw = h
}

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

// cdp is the words of data source d.
func (a *archive) cdp(w []uint64, d int) []uint64 {
	o := a.off + hwWords*d
	return w[o : o+hwWords : o+hwWords]
}

// cell is row i of data source d in the ring; i may be past the end.
func (a *archive) cell(w []uint64, nds int, i int64, d int) *uint64 {
	return &w[a.ring+int(i%a.rows)*nds+d]
}

// row returns the current row.
func (a *archive) currentRow(w []uint64) int64 { return int64(w[a.cur] >> a.shift & 0xffffffff) }

// holtWinters folds elapsed PDPs into all archives of the family.
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

// writeRows hands the rows of an archive out, or writes them into its ring, and
// moves the current row.
func (m *Machine) writeRows(w []uint64, a *archive, nds int, first, elapsed int64, out []Run) []Run {
	if a.ring != 0 {
		cur := a.currentRow(w)
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

// skip passes over more than two PDPs: the model learns nothing of them.
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
			c[hwLastSeasonal] = *a.cell(w, nds, a.currentRow(w)+elapsed, d)
			c[hwSeasonal] = *a.cell(w, nds, a.currentRow(w)+elapsed+1, d)
		case Failures:
			clear(c[hwHistory : hwHistory+4])
			c[hwPrimary], c[hwSecondary] = 0, 0
		}
	}
}

// fold folds one PDP into archive i; slot is where the row goes. Ahead is how
// far ahead of the current row the next coefficient is read.
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
			old := shiftSeasonal(c, *a.cell(w, nds, a.currentRow(w)+ahead, d))
			row = m.foldSeasonal(w, i, d, old, v)
		case DevSeasonal:
			old := shiftSeasonal(c, *a.cell(w, nds, a.currentRow(w)+ahead, d))
			row = m.foldDeviation(w, i, d, old, v)
		case DevPredict:
			row = m.deviation(w, i, d)
		case Failures:
			row = m.foldFailures(w, i, d, c, v)
		}
		c[slot] = math.Float64bits(row)
	}
}

// shiftSeasonal reads the next coefficient and returns the one that was read before.
func shiftSeasonal(c []uint64, next uint64) float64 {
	c[hwLastSeasonal] = c[hwSeasonal]
	c[hwSeasonal] = next
	return math.Float64frombits(c[hwLastSeasonal])
}

// field returns a field of a partner as it was before the PDP, for archive i.
func (m *Machine) field(w []uint64, i, partner, d, current, last int) uint64 {
	c := m.archives[partner].cdp(w, d)
	if partner < i {
		return c[last]
	}
	return c[current]
}

// seasonalOf is the coefficient for the PDP, for archive i.
func (m *Machine) seasonalOf(w []uint64, i, d int) float64 {
	return math.Float64frombits(m.field(w, i, m.archives[i].hw.season, d, hwSeasonal, hwLastSeasonal))
}

// deviation is the row of DEVPREDICT archive i.
func (m *Machine) deviation(w []uint64, i, d int) float64 {
	return math.Float64frombits(m.field(w, i, m.archives[i].hw.dev, d, hwSeasonal, hwLastSeasonal))
}

// predict is what the model foretold for the PDP, as archive i sees it; not ok
// if the model has not learned enough.
func (m *Machine) predict(w []uint64, i, d int) (v float64, ok bool) {
	h := &m.archives[i].hw
	intercept := math.Float64frombits(m.field(w, i, h.model, d, hwIntercept, hwLastIntercept))
	slope := math.Float64frombits(m.field(w, i, h.model, d, hwSlope, hwLastSlope))
	nulls := m.field(w, i, h.model, d, hwNulls, hwLastNulls)
	seasonal := m.seasonalOf(w, i, d)
	ok = !math.IsNaN(intercept) && !math.IsNaN(slope) && !math.IsNaN(seasonal)
	return h.prediction(intercept, slope, seasonal, nulls), ok
}

func (h *holtWinters) prediction(intercept, slope, seasonal float64, nulls uint64) float64 {
	base := intercept + float64(slope*float64(nulls))
	if h.multiply {
		return base * seasonal
	}
	return base + seasonal
}

// nextIntercept is the intercept after v.
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

// relative is v against an intercept.
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

// foldFailures is fold for FAILURES: 1 if the last PDPs were off too often.
func (m *Machine) foldFailures(w []uint64, i, d int, c []uint64, v float64) float64 {
	a := &m.archives[i]
	h := &a.hw
	// Which deviation is taken depends on where SEASONAL stands, not DEVSEASONAL.
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

func historyByte(c []uint64, j int) byte { return byte(c[hwHistory+j/8] >> (8 * (j % 8))) }

func setHistoryByte(c []uint64, j int, b byte) {
	p := &c[hwHistory+j/8]
	*p = *p&^(0xff<<(8*(j%8))) | uint64(b)<<(8*(j%8))
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
