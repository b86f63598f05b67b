package query

import "github.com/rondo-db/rondo/rra"

// A point is what is known of a point so far.
type point struct {
	slot
	sum     float64 // of n parts of each seconds; the value, if it is no mean
	n, each int64
	total   float64 // of values times seconds, of parts before
	seconds int64
	end     int64 // of the last known part
}

// add adds n parts of each seconds, up to end, by their sum or value.
func (p *point) add(cf rra.CF, sum float64, each, n, end int64) {
	if p.n > 0 && p.each != each {
		p.total, p.seconds = p.total+p.sum*float64(p.each), p.seconds+p.n*p.each
		if meanCF(cf) {
			p.sum = 0
		}
		p.n = 0
	}
	p.each = each
	switch none := p.n+p.seconds == 0; {
	case meanCF(cf):
		p.sum += sum
	case none, cf == rra.Min && sum < p.sum, cf == rra.Max && sum > p.sum, cf == rra.Last && end > p.end:
		p.sum = sum
	}
	p.n, p.end = p.n+n, max(p.end, end)
}

// value returns the value of p. Parts that are equally long give their mean as rows do.
func (p *point) value(cf rra.CF) float64 {
	switch {
	case !meanCF(cf):
		return p.sum
	case p.seconds == 0:
		return p.sum / float64(p.n)
	}
	return (p.total + p.sum*float64(p.each)) / float64(p.seconds+p.n*p.each)
}
