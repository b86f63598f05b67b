package hostile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// maxDatagram is the longest that a UDP socket takes.
const maxDatagram = 65507

// A mutator makes damaged messages of good ones.
type mutator struct {
	*rand.Rand
	seeds   [][]byte
	most    int                // bytes of what it makes
	fresh   func(i int) []byte // the message i of those that each make another series; nil: none do
	made    int                // of them
	freshly int                // every so many messages is one
	buf     []byte
}

// next returns a message, damaged in one to four ways or, once in a while, not at all. The next
// call overwrites it.
func (m *mutator) next() []byte {
	if m.fresh != nil && m.IntN(m.freshly) == 0 {
		m.made++
		return m.fresh(m.made)
	}
	m.buf = append(m.buf[:0], m.seed()...)
	for range m.IntN(5) {
		m.buf = m.damage(m.buf)
		if len(m.buf) > m.most {
			m.buf = m.buf[:m.most]
		}
	}
	return m.buf
}

func (m *mutator) seed() []byte { return m.seeds[m.IntN(len(m.seeds))] }

// extremes are what length fields and numbers are set to.
var extremes = []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1<<63 - 1, 1 << 63, 1<<64 - 1}

func (m *mutator) damage(b []byte) []byte {
	if len(b) == 0 {
		return m.noise(b, 1+m.IntN(64))
	}
	at := m.IntN(len(b))
	n := m.span(len(b) - at)
	switch m.IntN(11) {
	case 0, 1: // bits
		for range 1 + m.IntN(8) {
			b[m.IntN(len(b))] ^= 1 << m.IntN(8)
		}
	case 2, 3: // a length or a number at its extreme
		m.number(b[at:])
	case 4: // the end is missing
		b = b[:at]
	case 5: // a piece is missing
		b = append(b[:at], b[at+n:]...)
	case 6: // a piece is there again and again
		piece := bytes.Clone(b[at : at+n])
		for range 1 + m.IntN(6) {
			b = append(b[:at], append(bytes.Clone(piece), b[at:]...)...)
		}
	case 7: // the end of another message
		other := m.seed()
		b = append(b[:at], other[m.IntN(len(other)+1):]...)
	case 8: // another message behind it
		b = append(b, m.seed()...)
	case 9: // noise in place of a piece
		m.noise(b[:at], n)
	case 10:
		if m.IntN(20) == 0 { // nothing but noise, now and then much of it
			b = m.noise(b[:0], m.IntN(1<<m.IntN(17)))
		} else {
			b[at] = byte(extremes[m.IntN(5)])
		}
	}
	return b
}

// span returns a length up to n, mostly a short one.
func (m *mutator) span(n int) int {
	if m.IntN(4) > 0 {
		n = min(n, 16)
	}
	return 1 + m.IntN(max(n, 1))
}

// number sets the number at the beginning of b, whatever its size and order, to an extreme or one
// off it.
func (m *mutator) number(b []byte) {
	x := extremes[m.IntN(len(extremes))] + uint64(m.IntN(3)) - 1
	var number [8]byte
	size := min(1<<m.IntN(4), len(b))
	if m.IntN(2) == 0 {
		binary.LittleEndian.PutUint64(number[:], x)
		copy(b, number[:size])
		return
	}
	binary.BigEndian.PutUint64(number[:], x)
	copy(b, number[8-size:])
}

// noise puts n random bytes behind b, or over what stands there.
func (m *mutator) noise(b []byte, n int) []byte {
	for range n {
		b = append(b, byte(m.Uint32()))
	}
	return b
}

func newMutator(seed uint64, seeds [][]byte, most int) *mutator {
	return &mutator{Rand: rand.New(rand.NewPCG(seed, uint64(len(seeds)))), seeds: seeds, most: most}
}

// TestMutator: most of what it makes is damaged, nothing is too long, and the seeds stay as they
// are.
func TestMutator(t *testing.T) {
	seeds := [][]byte{[]byte("one good message"), []byte("another, which is a bit longer"), {}}
	m := newMutator(1, seeds, 1000)
	kinds := make(map[string]bool)
	whole := 0
	for range 10_000 {
		b := m.next()
		if len(b) > 1000 {
			t.Fatalf("%d bytes", len(b))
		}
		kinds[string(b)] = true
		if bytes.Equal(b, seeds[0]) || bytes.Equal(b, seeds[1]) {
			whole++
		}
	}
	if len(kinds) < 6000 || whole < 100 {
		t.Errorf("%d kinds, %d whole", len(kinds), whole)
	}
	if string(seeds[0]) != "one good message" || len(seeds[2]) != 0 {
		t.Errorf("the seeds are now %q", seeds)
	}
}
