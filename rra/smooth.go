package rra

import "math"

// burnIn is how many seasons after the start are smoothed at their end. After them the coefficients
// are smoothed once a season, at a row that was chosen by the name of the series when it was made.
const burnIn = 3

// The word hwPending of data source 0 of a SEASONAL or DEVSEASONAL archive has three parts. Bit 0
// says that a season of the burn-in has ended. The other bits of the lower half count the rows
// passed since the update command began. The upper half is the row at which the archive is
// smoothed; a number past the last row, such as neverSmooth, is never reached.
const (
	smoothShift = 32
	pendingMask = 1<<smoothShift - 1
	neverSmooth = pendingMask
)

// passRows moves the current row of a SEASONAL or DEVSEASONAL archive, and notes in hwPending what
// EndUpdate must know.
func (a *archive) passRows(w []uint64, elapsed int64) {
	old := a.row(w)
	passed := min(elapsed, a.rows)
	a.advance(w, passed)
	c := a.cdp(w, 0)
	switch {
	case c[hwBurnIn] > burnIn:
		pending := c[hwPending] & pendingMask
		rows := min(pending>>1+uint64(passed), uint64(a.rows))
		c[hwPending] = c[hwPending]&^pendingMask | rows<<1 | pending&1
	case old+passed >= a.rows:
		c[hwBurnIn]++
		c[hwPending] |= 1
	}
}

// EndUpdate ends one update command. It smooths all seasonal coefficients if the command has passed
// a row that calls for it. [Machine.SmoothBy] chooses these rows.
func (m *Machine) EndUpdate(s *State) {
	smooth := false
	for i := range m.archives {
		a := &m.archives[i]
		if a.ring == 0 {
			continue
		}
		c := a.cdp(s.W, 0)
		pending := c[hwPending] & pendingMask
		c[hwPending] &^= pendingMask
		passed := int64(pending >> 1)
		row := int64(c[hwPending] >> smoothShift)
		behind := (a.row(s.W) - row + a.rows) % a.rows
		smooth = smooth || pending&1 != 0 || row <= a.rows && behind < passed
	}
	if !smooth {
		return
	}
	for i := range m.archives {
		if m.archives[i].ring != 0 {
			m.smooth(s.W, i)
		}
	}
}

// AbortUpdate ends an update command that has stopped at an error. As in rrdtool, nothing is
// smoothed for the readings that were applied before the error.
func (m *Machine) AbortUpdate(s *State) {
	for i := range m.archives {
		if a := &m.archives[i]; a.ring != 0 {
			a.cdp(s.W, 0)[hwPending] &^= pendingMask
		}
	}
}

// SmoothBy chooses the rows at which the SEASONAL and DEVSEASONAL archives of w are smoothed. It
// chooses them as rrdtool does when it makes a file: hash is the [NameHash] of the file's name.
func (m *Machine) SmoothBy(w []uint64, hash uint64) {
	for i := range m.archives {
		if a := &m.archives[i]; a.ring != 0 {
			a.smoothAt(w, int64(hash%uint64(a.rows)))
		}
	}
}

func (a *archive) smoothAt(w []uint64, row int64) {
	if row < 0 || row > neverSmooth {
		row = neverSmooth
	}
	c := a.cdp(w, 0)
	c[hwPending] = c[hwPending]&pendingMask | uint64(row)<<smoothShift
}

// SmoothRow returns the row of the ring at which a SEASONAL or DEVSEASONAL archive is smoothed; -1:
// at none. It returns 0 for other archives.
func (m *Machine) SmoothRow(s *State, archive int) int64 {
	a := &m.archives[archive]
	if a.ring == 0 {
		return 0
	}
	row := int64(a.cdp(s.W, 0)[hwPending] >> smoothShift)
	if row == neverSmooth {
		return -1
	}
	return row
}

// smooth replaces each row of archive i by the mean of the rows around it, unless a row is unknown.
// For SEASONAL it then makes the coefficients relative to their mean, which the model's intercept
// takes over.
func (m *Machine) smooth(w []uint64, i int) {
	a := &m.archives[i]
	nds := len(m.sources)
	half := int64(math.Floor(a.hw.window / 2 * float64(a.rows)))
	if half == 0 {
		return
	}
	ring := w[a.ring : a.ring+nds*int(a.rows)]
	for _, b := range ring {
		if math.IsNaN(math.Float64frombits(b)) {
			return
		}
	}
	smoothed := make([]float64, a.rows)
	for d := range nds {
		mean := a.smoothColumn(w, nds, d, half, smoothed)
		model := m.archives[a.hw.model].cdp(w, d)
		for k, v := range smoothed {
			if a.cf == Seasonal {
				v = a.hw.relative(v, mean)
			}
			*a.cell(w, nds, int64(k), d) = math.Float64bits(v)
		}
		if a.cf == Seasonal {
			intercept := math.Float64frombits(model[hwIntercept]) + mean
			model[hwIntercept] = math.Float64bits(intercept)
		}
	}
}

// smoothColumn sets smoothed[k] to the mean of the 2*half+1 rows around row k of data source d, and
// returns the mean of smoothed.
func (a *archive) smoothColumn(w []uint64, nds, d int, half int64, smoothed []float64) float64 {
	at := func(k int64) float64 { return math.Float64frombits(*a.cell(w, nds, (k+a.rows)%a.rows, d)) }
	sum, total := 0.0, 0.0
	for k := -half; k < half; k++ {
		sum += at(k)
	}
	for k := range a.rows {
		sum += at(k + half)
		smoothed[k] = sum / float64(2*half+1)
		total += smoothed[k]
		sum -= at(k - half)
	}
	return total / float64(a.rows)
}

// NameHash returns a hash of a file's name. rrdtool takes it modulo the rows of a season to choose
// the row at which coefficients are smoothed. It is FNV-1 (Fowler, Noll, Vo 1991) with the
// constants for 32 bits, but computed with 64 bits.
func NameHash(name string) uint64 {
	h := uint64(2166136261)
	for i := range len(name) {
		h *= 16777619
		h ^= uint64(name[i])
	}
	return h
}

// RingRow appends the rows of a SEASONAL or DEVSEASONAL archive to dst, oldest first.
func (m *Machine) RingRow(s *State, archive, ds int, dst []float64) []float64 {
	a := &m.archives[archive]
	cur := a.row(s.W)
	for i := range a.rows {
		dst = append(dst, math.Float64frombits(*a.cell(s.W, len(m.sources), cur+1+i, ds)))
	}
	return dst
}
