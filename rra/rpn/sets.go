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

// count returns the element at i as a number of elements below it.
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

// roll rotates elements: with n and m on top of the stack, the n elements below them by m towards
// the top.
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

// set runs the operators whose top element says over how many elements they work.
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

// percent runs PERCENT: of n elements it picks the one at a percentile, its first argument.
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

// median returns the middle of the known elements of v, or the average of the two in the middle. It
// reorders v.
func median(v []float64) float64 {
	for i := 0; i < len(v); {
		if math.IsNaN(v[i]) {
			v[i] = v[len(v)-1] // the order matters if an element is infinite
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

// reduce returns the SMIN, SMAX, AVG or STDEV of the known elements of v. It works from the top of
// the stack down. The deviation is computed as Welford does (1962: "Note on a method for
// calculating corrected sums of squares and products").
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
