package rpn

import (
	"math"
	"slices"
)

// shuffle runs the operators that move elements of the stack.
func (m *machine) shuffle(o op) error {
	top := len(m.stack) - 1
	if o == opDepth {
		return m.push(float64(len(m.stack)))
	}
	if top < 0 || o == opExc && top < 1 {
		return ErrUnderflow
	}
	switch o {
	case opDup:
		return m.push(m.stack[top])
	case opPop:
		m.stack = m.stack[:top]
	case opExc:
		m.stack[top], m.stack[top-1] = m.stack[top-1], m.stack[top]
	case opIndex:
		n, err := m.count(top)
		if err != nil {
			return err
		}
		m.stack[top] = m.stack[top-n]
	case opCopy:
		n, err := m.count(top)
		if err != nil {
			return err
		}
		if top+n > MaxStack {
			return ErrOverflow
		}
		m.stack = append(m.stack[:top], m.stack[top-n:top]...)
	case opRoll:
		return m.roll()
	}
	return nil
}

// count reads the element at i as a count of the elements below it.
func (m *machine) count(i int) (int, error) {
	v := m.stack[i]
	switch {
	case math.IsNaN(v) || v >= float64(i+1):
		return 0, ErrUnderflow
	case v <= -1:
		return 0, ErrCount
	}
	if m.column != nil {
		return int(v), m.column.look(int(v))
	}
	return int(v), nil
}

// roll rotates the n elements below n and m by m towards the top.
func (m *machine) roll() error {
	top := len(m.stack) - 2
	if top < 0 {
		return ErrUnderflow
	}
	by := m.stack[top+1]
	n, err := m.count(top)
	if err != nil {
		return err
	}
	m.stack = m.stack[:top]
	if n == 0 || math.IsNaN(by) || math.IsInf(by, 0) {
		return nil
	}
	k := int(math.Mod(math.Trunc(by), float64(n)))
	if k < 0 {
		k += n
	}
	v := m.stack[top-n:]
	slices.Reverse(v)
	slices.Reverse(v[:k])
	slices.Reverse(v[k:])
	return nil
}

// set runs the operators over as many elements as the top one says.
func (m *machine) set(o op) error {
	top := len(m.stack) - 1
	if top < 0 || o == opPercent && top < 1 {
		return ErrUnderflow
	}
	if o == opPercent {
		return m.percent()
	}
	n, err := m.count(top)
	if err != nil {
		return err
	}
	v := m.stack[top-n : top]
	m.stack = m.stack[:top]
	switch o {
	case opSort:
		sortValues(v)
		return nil
	case opRev:
		slices.Reverse(v)
		return nil
	}
	var r float64
	if o == opMedian {
		r = median(v)
	} else {
		r = reduce(o, v)
	}
	m.stack = m.stack[:top-n]
	return m.push(r)
}

// sortValues sorts as rrdtool does, which is NaN first and then by size as
// long as nothing is infinite. Of an infinite and a finite element rrdtool's comparison
// gives the same answer whichever comes first, so that the result depends on the
// way the sort goes: a merge of two halves, the smaller one in front.
func sortValues(v []float64) {
	if !slices.ContainsFunc(v, func(x float64) bool { return math.IsInf(x, 0) }) {
		slices.SortStableFunc(v, order)
		return
	}
	mergeSort(v, make([]float64, len(v)))
}

// order says which of two elements comes first.
func order(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return -1
	case math.IsNaN(b):
		return 1
	case math.IsInf(a, 0):
		return sign(a)
	case math.IsInf(b, 0):
		return sign(b) // sic
	}
	return sign(a - b)
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

func mergeSort(v, room []float64) {
	if len(v) < 2 {
		return
	}
	a, b := v[:len(v)/2], v[len(v)/2:]
	mergeSort(a, room)
	mergeSort(b, room)
	merged := room[:0]
	for len(a) > 0 && len(b) > 0 {
		if order(a[0], b[0]) <= 0 {
			merged = append(merged, a[0])
			a = a[1:]
		} else {
			merged = append(merged, b[0])
			b = b[1:]
		}
	}
	merged = append(merged, a...)
	copy(v, merged) // what is left of b is in its place
}

// percent picks the element at a percentile, the first argument, of n others.
func (m *machine) percent() error {
	top := len(m.stack) - 2
	share := m.stack[top]
	m.stack[top] = m.stack[top+1]
	m.stack = m.stack[:top+1]
	n, err := m.count(top)
	switch {
	case err != nil:
		return err
	case !(share >= 0 && share <= 100):
		return ErrPercent
	}
	v := m.stack[top-n : top]
	r := math.NaN()
	if n > 0 {
		sortValues(v)
		r = v[max(int(math.Round(float64(n)*share/100))-1, 0)]
	}
	m.stack = m.stack[:top-n]
	return m.push(r)
}

// median returns the middle of v, or the average of the two that are there,
// unknown ones left out. It reorders v.
func median(v []float64) float64 {
	for i := 0; i < len(v); {
		if math.IsNaN(v[i]) {
			v[i] = v[len(v)-1] // the order matters where something is infinite
			v = v[:len(v)-1]
		} else {
			i++
		}
	}
	if len(v) == 0 {
		return math.NaN()
	}
	sortValues(v)
	k := len(v) / 2
	if len(v)%2 == 0 {
		return (v[k-1] + v[k]) / 2
	}
	return v[k]
}

// reduce makes one element of v, from the top down; unknown ones do not count.
func reduce(o op, v []float64) float64 {
	n := 0
	least, most, sum, mean, squares := math.NaN(), math.NaN(), 0.0, 0.0, 0.0
	for i := len(v) - 1; i >= 0; i-- {
		x := v[i]
		if math.IsNaN(x) {
			continue
		}
		n++
		if n == 1 {
			least, most = x, x
		}
		if x < least {
			least = x
		}
		if x > most {
			most = x
		}
		sum += x
		d := x - mean
		mean += d / float64(n)
		squares += float64(d * (x - mean))
	}
	switch {
	case n == 0:
		return math.NaN()
	case o == opSMin:
		return least
	case o == opSMax:
		return most
	case o == opAvg:
		return sum / float64(n)
	}
	return math.Sqrt(squares / float64(n-1))
}
