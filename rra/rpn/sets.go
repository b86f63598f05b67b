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
		slices.SortFunc(v, order)
		return nil
	case opRev:
		slices.Reverse(v)
		return nil
	}
	r := reduce(o, v)
	m.stack = m.stack[:top-n]
	return m.push(r)
}

// order sorts -Inf, NaN, all others.
func order(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		if math.IsInf(b, -1) {
			return 1
		}
		return -1
	case math.IsNaN(b):
		return -order(b, a)
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
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
		slices.SortFunc(v, order)
		r = v[max(int(math.Round(float64(n)*share/100))-1, 0)]
	}
	m.stack = m.stack[:top-n]
	return m.push(r)
}

// reduce makes one element of v, which it may reorder; NaN does not count.
func reduce(o op, v []float64) float64 {
	k := 0
	for _, x := range v {
		if !math.IsNaN(x) {
			v[k] = x
			k++
		}
	}
	v = v[:k]
	if k == 0 {
		return math.NaN()
	}
	switch o {
	case opSMin:
		return slices.Min(v)
	case opSMax:
		return slices.Max(v)
	case opMedian:
		slices.Sort(v)
		if k%2 == 0 {
			return (v[k/2-1] + v[k/2]) / 2
		}
		return v[k/2]
	}
	sum := 0.0
	for i := k - 1; i >= 0; i-- {
		sum += v[i]
	}
	mean := sum / float64(k)
	if o == opAvg {
		return mean
	}
	sum = 0
	for i := k - 1; i >= 0; i-- {
		d := v[i] - mean
		sum += float64(d * d)
	}
	if k == 1 {
		return math.NaN()
	}
	return math.Sqrt(sum / float64(k-1))
}
