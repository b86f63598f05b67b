package rrdfile

import (
	"bytes"

	"github.com/rondo-db/rondo/rra"
)

// text returns b up to its first NUL.
func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// parseName reads the name of a value from 0 to last, which a NUL may follow, without allocation.
func parseName[T interface {
	rra.Kind | rra.CF
	String() string
}](b []byte, last T) (v T, ok bool) {
	b, _, _ = bytes.Cut(b, []byte{0})
	for ; v <= last; v++ {
		if v.String() == string(b) {
			return v, true
		}
	}
	return 0, false
}
