package graph

import (
	"math"

	"github.com/rondo-db/rondo/query/graphdata"
)

// symbols are the SI prefixes of the powers from -8 to 8.
const (
	symbols    = "yzafpnum kMGTPEZY"
	noSymbol   = 8
	outOfScale = '?'
)

// limits works out the limits of the y axis. low and high are the limits of the data, NaN without
// data.
func (l *Layout) limits(low, high float64) {
	o := l.o
	switch {
	case o.Log:
		if low != low || high != high || high <= 0 {
			low, high = 0, 5.1
		}
		if low <= 0 {
			low = high / 1e9
		}
	case low != low || high != high:
		low, high = 0, 1
	}
	below, above := low, high
	if o.Log {
		below, above = low/2, high*2
	}
	l.Min, l.Max = o.Min, o.Max
	if l.Min != l.Min || !o.Rigid && l.Min > low || o.Rigid && o.AllowShrink && l.Min < low {
		l.Min = below
	}
	if l.Max != l.Max || !o.Rigid && l.Max < high || o.Rigid && o.AllowShrink && l.Max > high {
		l.Max = above
	}
	if l.Min > l.Max {
		if l.Min > 0 {
			l.Min = 0.99 * l.Max
		} else {
			l.Min = 1.01 * l.Max
		}
	}
	if near(l.Min, l.Max) {
		if l.Max > 0 {
			l.Max *= 1.01
		} else {
			l.Max *= 0.99
		}
		if near(l.Max, 0) {
			l.Max = 1
		}
	}
	if o.Log && l.Min == 0 { // of -r -u 0
		l.Min = l.Max / 1e9
	}
	l.unit()
	if !o.Log && !(o.Rigid && !o.AllowShrink) {
		l.widen()
	}
}

// near reports whether two numbers are the same in single precision, or nearly so. As in rrdtool
// the difference has 32 bits and overflows, so that -4 and 1 count as the same, too.
func near(a, b float64) bool {
	order := func(v float64) int32 {
		n := int32(math.Float32bits(float32(v)))
		if n < 0 {
			n = math.MinInt32 - n
		}
		return n
	}
	d := order(a) - order(b)
	return max(d, -d) <= 4
}

// unit works out in which unit the numbers of the y axis are shown.
func (l *Layout) unit() {
	o, s := l.o, &l.scale
	base := float64(o.Base)
	s.digits = math.Floor(math.Log(max(math.Abs(l.Min), math.Abs(l.Max))) / math.Log(base))
	s.viewDigits = s.digits
	if o.HasExponent {
		s.viewDigits = float64(o.UnitsExponent / 3)
	}
	s.factor = graphdata.Power(o.Base, int(s.digits))
	// As rrdtool keeps it.
	s.viewFactor = float64(float32(s.factor / graphdata.Power(o.Base, int(s.viewDigits))))
	s.symbol = outOfScale
	if i := s.viewDigits + noSymbol; i >= 0 && i < float64(len(symbols)) {
		s.symbol = symbols[int(i)]
	}
}

// sensible are the limits, in units, that an axis likes to end at.
var sensible = [...]float64{
	1000, 900, 800, 750, 700, 600, 500, 400, 300, 250, 200, 125, 100, 90, 80, 75, 70, 60, 50, 40, 30, 25, 20, 10,
	9, 8, 7, 6, 5, 4, 3.5, 3, 2.5, 2, 1.8, 1.5, 1.2, 1, .8, .7, .6, .5, .4, .3, .2, .1,
}

// widen moves the limits to where an axis likes to end.
func (l *Layout) widen() {
	o, s := l.o, &l.scale
	if o.YFactor > 0 {
		step := o.YStep * float64(o.YFactor)
		l.Min = math.Floor(l.Min/step) * step
		l.Max = math.Ceil(l.Max/step) * step
		return
	}
	delta := l.Max - l.Min
	switch {
	case o.AltAuto:
		most := max(math.Abs(l.Min), math.Abs(l.Max))
		adjust := delta * 0.1
		if f := 2 * math.Pow(10, math.Floor(math.Log10(most/s.factor))-2); delta < f {
			adjust = 0.55 * (f - delta)
		}
		l.Min -= adjust
		l.Max += adjust
	case o.AltAutoMin:
		l.Min -= delta * 0.1
	case o.AltAutoMax:
		l.Max += delta * 0.1
	default:
		l.Min, l.Max = sensibleBelow(l.Min, s.factor), -sensibleBelow(-l.Max, s.factor)
	}
}

// sensibleBelow is the next sensible limit below a value, in a unit: one that is sensible itself
// stays if it is negative, but for the one nearest to 0. A value nearer to 0, or farther from 0,
// than all of them stays, to the last bit.
func sensibleBelow(value, unit float64) float64 {
	v := value / unit
	for i := 1; i < len(sensible); i++ {
		greater, less := sensible[i-1], sensible[i]
		if greater >= v && v > less {
			return less * unit
		}
		if -greater <= v && (v < -less || v == -less && i == len(sensible)-1) {
			return -greater * unit
		}
	}
	return value
}
