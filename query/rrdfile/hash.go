package rrdfile

import "math/bits"

// NameHash returns a hash for [rra.Machine.EndUpdate] by which the SEASONAL and DEVSEASONAL archives are smoothed at the
// rows that the file says. Not ok: there is none, because the file was put together from several.
//
// rrdtool keeps, of the hash of the name that a file was made under, the remainder by the rows of each archive.
func (f *File) NameHash() (hash uint64, ok bool) {
	every := uint64(1) // hash + n*every gives the same rows so far
	for i := range f.Definition.Archives {
		a := &f.Definition.Archives[i]
		if !isSeasonal(a.CF) || a.Rows < 1 {
			continue
		}
		rows, want := uint64(a.Rows), uint64(f.Smooth[i])
		if want >= rows {
			return 0, false
		}
		for n := uint64(0); hash%rows != want; n++ {
			next, carry := bits.Add64(hash, every, 0)
			if n == rows || carry != 0 {
				return 0, false
			}
			hash = next
		}
		high, low := bits.Mul64(every, rows/gcd(every, rows))
		if high != 0 {
			low = 1 << 63 // no other hash will do
		}
		every = low
	}
	return hash, true
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
