package clustermodel

import "math"

// leastSquares returns x, each 0 or more, for which rows·x comes nearest to want: the sum of the
// squares of the relative errors is the least. All of want are more than 0. There are few columns:
// it tries which of them are 0.
func leastSquares(rows [][]float64, want []float64) []float64 {
	columns := len(rows[0])
	best, least := make([]float64, columns), float64(len(rows))
	for used := 1; used < 1<<columns; used++ {
		x, ok := solve(rows, want, used)
		if !ok {
			continue
		}
		var errors float64
		for i, row := range rows {
			got := 0.0
			for k, v := range row {
				got += v * x[k]
			}
			errors += (got/want[i] - 1) * (got/want[i] - 1)
		}
		if errors < least {
			best, least = x, errors
		}
	}
	return best
}

// solve is leastSquares with the columns whose bits are set. It fails if these do not give one
// answer, or it has a number below 0.
func solve(rows [][]float64, want []float64, used int) ([]float64, bool) {
	var columns []int
	for k := range rows[0] {
		if used&(1<<k) != 0 {
			columns = append(columns, k)
		}
	}
	n := len(columns)
	m := make([][]float64, n) // the normal equations; the last column is the right side
	for a := range m {
		m[a] = make([]float64, n+1)
		for i, row := range rows {
			w := 1 / (want[i] * want[i])
			for b := range n {
				m[a][b] += w * row[columns[a]] * row[columns[b]]
			}
			m[a][n] += w * row[columns[a]] * want[i]
		}
	}
	all := make([]float64, len(rows[0]))
	if !eliminate(m) {
		return nil, false
	}
	for a, k := range columns {
		if all[k] = m[a][n]; !(all[k] >= 0) {
			return nil, false
		}
	}
	return all, true
}

// eliminate solves equations by Gauss and Jordan, and fails if they have no single answer.
func eliminate(m [][]float64) bool {
	n := len(m)
	for a := range n {
		p := a
		for i := a + 1; i < n; i++ {
			if math.Abs(m[i][a]) > math.Abs(m[p][a]) {
				p = i
			}
		}
		m[a], m[p] = m[p], m[a]
		if pivot := m[a][a]; !(math.Abs(pivot) > 0) {
			return false
		}
		for k := n; k >= a; k-- {
			m[a][k] /= m[a][a]
		}
		for i := range n {
			if f := m[i][a]; i != a && f != 0 {
				for k := a; k <= n; k++ {
					m[i][k] -= f * m[a][k]
				}
			}
		}
	}
	return true
}
