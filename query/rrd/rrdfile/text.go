package rrdfile

import (
	"bytes"
	"errors"

	"github.com/rondo-db/rondo/rra"
)

// text returns b up to its first NUL.
func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

var errName = errors.New("is not known")

// parseKind and parseCF read a name that a NUL may follow, without allocation.
func parseKind(b []byte) (rra.Kind, error) {
	b, _, _ = bytes.Cut(b, []byte{0})
	for k := rra.Gauge; k <= rra.Compute; k++ {
		if k.String() == string(b) {
			return k, nil
		}
	}
	return 0, errName
}

func parseCF(b []byte) (rra.CF, error) {
	b, _, _ = bytes.Cut(b, []byte{0})
	for cf := rra.Average; cf <= rra.Failures; cf++ {
		if cf.String() == string(b) {
			return cf, nil
		}
	}
	return 0, errName
}
