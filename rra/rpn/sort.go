package rpn

import (
	"math"
	"slices"
)

// sortValues sorts as rrdtool does: NaN first, then by size, if no element is infinite. rrdtool's
// comparison of an infinite and a finite element gives the same answer in both orders, so the
// result then depends on the algorithm: a merge sort of two halves, the smaller half in front.
func sortValues(v []float64) {
	if !slices.ContainsFunc(v, func(x float64) bool { return math.IsInf(x, 0) }) {
		slices.SortStableFunc(v, order)
		return
	}
	mergeSort(v, make([]float64, len(v)), order)
}

// sortColumn sorts the values of a column as rrdtool does for PERCENT and PERCENTNAN. Of two equal
// ones the later comes first, which shows with zeros of different signs.
func sortColumn(v []float64) {
	mergeSort(v, make([]float64, len(v)), func(a, b float64) int {
		if a == b && !math.IsInf(a, 0) {
			return 1
		}
		return order(a, b)
	})
}

// order compares two elements as rrdtool does: it is negative if a comes first.
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
		return sign(b) // as in rrdtool, although -sign(b) would be right
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

func mergeSort(v, room []float64, order func(a, b float64) int) {
	if len(v) < 2 {
		return
	}
	a, b := v[:len(v)/2], v[len(v)/2:]
	mergeSort(a, room, order)
	mergeSort(b, room, order)
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
