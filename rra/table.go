package rra

// A Table is the states of many series of one shape, word by word: word j of series i stands at
// W[j*N+i]. Steps of many series to one time touch few words of each state. In a Table these lie
// side by side.
type Table struct {
	W []uint64
	N int // how far the words lie apart: no less than there are series
}

// column returns one word of every series.
func (t Table) column(word int) []uint64 {
	return t.W[word*t.N : (word+1)*t.N]
}

// Load fills w with the state of a series.
func (t Table) Load(i int, w []uint64) {
	for j := range w {
		w[j] = t.W[j*t.N+i]
	}
}

// Store makes w the state of a series.
func (t Table) Store(i int, w []uint64) {
	for j, v := range w {
		t.W[j*t.N+i] = v
	}
}

// Fill makes w the state of n series from i on.
func (t Table) Fill(i, n int, w []uint64) {
	for j, v := range w {
		col := t.W[j*t.N+i:][:n]
		for k := range col {
			col[k] = v
		}
	}
}

// LastUpdate returns the time of the last reading folded into the state of a series.
func (t Table) LastUpdate(i int) Time { return Time(t.W[wordLast*t.N+i]) }

// Tabular reports whether series of m's shape may step in blocks. The answer depends on the shape
// alone.
func (m *Machine) Tabular() bool {
	return len(m.sources) <= maxStraight && len(m.lanes) <= maxLanes && !m.family && m.own == nil
}
