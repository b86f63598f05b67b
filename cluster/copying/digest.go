package copying

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// A Digest stands for a set of things, in no order: it is the sum of the first 128 bits of the
// SHA-256 of each. Equal sets have equal digests.
type Digest [2]uint64

// take adds a thing of a kind.
func (d *Digest) take(kind string, b []byte) {
	h := sha256.New()
	_, _ = h.Write([]byte(kind + "\n")) // it never fails
	_, _ = h.Write(b)
	sum := h.Sum(nil)
	d.Add(Digest{binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])})
}

// Add adds the things of another digest.
func (d *Digest) Add(x Digest) {
	d[0] += x[0]
	d[1] += x[1]
}

func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d[0], d[1]) }
