package copying

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
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

// paths are the paths that an engine has, by their hashes: 8 bytes each. A path that is not there
// may seem to be.
type paths struct{ sorted []uint64 }

// pathsOf lists the paths of an engine.
func pathsOf(ctx context.Context, e core.Engine) (*paths, error) {
	p := &paths{}
	for x, err := range e.Select(ctx, core.Query{}) {
		if err != nil {
			return nil, err
		}
		p.sorted = append(p.sorted, hashOf(x.Path))
	}
	slices.Sort(p.sorted)
	return p, nil
}

func (p *paths) has(path string) bool {
	_, found := slices.BinarySearch(p.sorted, hashOf(path))
	return found
}

func hashOf(path string) uint64 {
	key, _, err := core.CleanPath(path)
	if err != nil { // no series has such a path
		key = path
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // it never fails
	return h.Sum64()
}
