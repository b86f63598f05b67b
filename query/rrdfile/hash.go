package rrdfile

import "math/bits"

// NameHash returns a hash for [rra.Machine.EndUpdate] by which the SEASONAL and DEVSEASONAL archives are smoothed at the
// rows that the file says. Not ok: there is none, because the file was put together from several.
//
// rrdtool keeps, of the hash of the name that a file was made under, the remainder by the rows of each archive.
func (f *File) NameHash() (hash uint64, ok bool) {
	every := uint64(1) // hash plus multiples of it give the same rows so far
	for i := range f.Definition.Archives {
		a := &f.Definition.Archives[i]
		if !isSeasonal(a.CF) || a.Rows < 1 {
			continue
		}
		rows, want := uint64(a.Rows), uint64(f.Smooth[i])
		if want >= rows {
			return 0, false
		}
		// How many times every is missing, by the rule for remainders by two numbers.
		common, inverse := invert(every%rows, rows)
		missing := (want + rows - hash%rows) % rows
		if missing%common != 0 {
			return 0, false
		}
		period := rows / common
		high, low := bits.Mul64(missing/common, inverse)
		_, times := bits.Div64(high%period, low, period)
		high, low = bits.Mul64(times, every)
		sum, carry := bits.Add64(hash, low, 0)
		if high != 0 || carry != 0 {
			return 0, false
		}
		hash = sum
		if high, every = bits.Mul64(every, period); high != 0 {
			every = 0 // no other hash will do
		}
	}
	return hash, true
}

// invert returns the greatest common divisor g of a and m, and what a/g is to be multiplied with to be 1 modulo m/g.
func invert(a, m uint64) (g, inverse uint64) {
	x, y := int64(1), int64(0) // a = x*a, b = y*a modulo m
	b := m
	for b != 0 {
		q := a / b
		a, b = b, a-q*b
		x, y = y, x-int64(q)*y
	}
	period := int64(m / a)
	return a, uint64((x%period + period) % period)
}
