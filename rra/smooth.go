package rra

import "math"

// defaultSmoothing is the smoothing window where none is given.
const defaultSmoothing = 0.05

// burnIn is how many seasons are smoothed at their end, before smoothing takes
// place once a season at a row that the name of the series decided when it was made.
const burnIn = 3

// The word hwPending of data source 0 of a SEASONAL or DEVSEASONAL archive: bit 0 says that a
// season of the burn-in ended, the rest of the lower half counts rows passed since the update
// command began. The upper half is the row at which the archive calls for smoothing; neverSmooth,
// and others that are past its rows, are never reached.
const (
	smoothShift = 32
	pendingMask = 1<<smoothShift - 1
	neverSmooth = pendingMask
)

// passRows moves the current row of a SEASONAL or DEVSEASONAL archive and notes
// what of it EndUpdate must know.
func (a *archive) passRows(w []uint64, elapsed int64) {
	old := a.currentRow(w)
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

// EndUpdate ends one update command: where a row that calls for it was passed,
// all seasonal coefficients are smoothed. [Machine.SmoothBy] says which rows do.
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
		behind := (a.currentRow(s.W) - row + a.rows) % a.rows
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

// AbortUpdate ends an update command that stopped at an error: as in rrdtool,
// nothing is smoothed for what was applied before it.
func (m *Machine) AbortUpdate(s *State) {
	for i := range m.archives {
		if a := &m.archives[i]; a.ring != 0 {
			a.cdp(s.W, 0)[hwPending] &^= pendingMask
		}
	}
}

// SmoothBy chooses the rows at which the SEASONAL and DEVSEASONAL archives of w call for smoothing
// as rrdtool does when it makes a file: hash is that of the name it is given ([NameHash]).
func (m *Machine) SmoothBy(w []uint64, hash uint64) {
	for i := range m.archives {
		if a := &m.archives[i]; a.ring != 0 {
			a.smoothAt(w, int64(hash%uint64(a.rows)))
		}
	}
}

// smoothAt makes row the one at which a calls for smoothing.
func (a *archive) smoothAt(w []uint64, row int64) {
	if row < 0 || row > neverSmooth {
		row = neverSmooth
	}
	c := a.cdp(w, 0)
	c[hwPending] = c[hwPending]&pendingMask | uint64(row)<<smoothShift
}

// SmoothRow returns the row of the ring at which an archive of CF SEASONAL or DEVSEASONAL calls for
// smoothing, -1 if at none; 0 for other archives.
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

// smooth replaces each row by the mean of the rows around it.
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

// smoothColumn fills smoothed with the means of 2*half+1 rows around each row
// of data source d, and returns their mean.
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

// NameHash is the hash of a file's name that rrdtool takes modulo the rows of a
// season to find the row at which coefficients are smoothed: FNV-1 with the
// constants for 32 bits, but in 64-bit arithmetic.
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
	cur := a.currentRow(s.W)
	for i := range a.rows {
		dst = append(dst, math.Float64frombits(*a.cell(s.W, len(m.sources), cur+1+i, ds)))
	}
	return dst
}
