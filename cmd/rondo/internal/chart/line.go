package chart

import (
	"math"
)

// Rows are consecutive values of equal length in time.
type Rows struct {
	Start  int64 // the first row covers (Start, Start+Step], in seconds since 1970
	Step   int64 // seconds a row
	Values []float64
}

// A Merge says what a dot column shows of several rows.
type Merge int

// What a dot column shows.
const (
	Mean Merge = iota // the mean, weighted by time
	Least
	Greatest
	Newest
)

// A Line is one data source in a chart.
type Line struct {
	Name  string
	Rows  Rows
	Merge Merge
	// Low and High are the edges of a band around the line. They are empty if the line has no band.
	Low, High Rows
}

// columns returns the value of each dot column of (start, end].
func (r *Rows) columns(start, end int64, n int, merge Merge) []float64 {
	out := make([]float64, n)
	width := float64(end-start) / float64(n)
	for x := range out {
		from := float64(start) + float64(x)*width
		out[x] = r.between(from, from+width, merge)
	}
	return out
}

// between returns the value of the rows that overlap (from, to].
func (r *Rows) between(from, to float64, merge Merge) float64 {
	out, weight := math.NaN(), 0.0
	first := max(0, int(math.Floor((from-float64(r.Start))/float64(r.Step))))
	for i := first; i < len(r.Values); i++ {
		begin := float64(r.Start) + float64(i)*float64(r.Step)
		if begin >= to {
			break
		}
		v := r.Values[i]
		overlap := math.Min(to, begin+float64(r.Step)) - math.Max(from, begin)
		if math.IsNaN(v) || overlap <= 0 {
			continue
		}
		switch {
		case weight == 0 || merge == Newest:
			out = v
		case merge == Mean:
			out += (v - out) * overlap / (weight + overlap)
		case merge == Least:
			out = math.Min(out, v)
		case merge == Greatest:
			out = math.Max(out, v)
		}
		weight += overlap
	}
	return out
}

// A Summary is the numbers of a line that a legend shows. Without known values all are NaN.
type Summary struct {
	Last, Min, Avg, Max float64
}

// Summary returns the numbers of the line in (start, end]. The least and the greatest value come
// from the band, if the line has one.
func (l *Line) Summary(start, end int64) Summary {
	s := Summary{Last: math.NaN(), Min: math.NaN(), Avg: math.NaN(), Max: math.NaN()}
	if l.Rows.Step > 0 {
		from, to := float64(start), float64(end)
		s.Avg = l.Rows.between(from, to, Mean)
		s.Last = l.Rows.between(from, to, Newest)
		s.Min = l.Rows.between(from, to, Least)
		s.Max = l.Rows.between(from, to, Greatest)
		if l.Low.Step > 0 {
			s.Min = fmin(s.Min, l.Low.between(from, to, Least))
		}
		if l.High.Step > 0 {
			s.Max = fmax(s.Max, l.High.between(from, to, Greatest))
		}
	}
	return s
}

// fmin returns the lesser of two values, or the known one.
func fmin(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

// fmax returns the greater of two values, or the known one.
func fmax(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}
