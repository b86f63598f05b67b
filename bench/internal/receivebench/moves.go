package receivebench

import (
	"encoding/binary"
	"math"

	"github.com/rondo-db/rondo/rra"
)

// A shape is how the readings of a source move.
type shape uint8

const (
	constant shape = iota
	idle           // a counter that seldom moves
	busy           // a counter
	whole          // a gauge of whole numbers
	pages          // a gauge of bytes, whole pages
	decimal        // a gauge of two decimals
	fine           // a gauge of full precision
)

// A source is one value that moves from reading to reading.
type source struct {
	shape shape
	v     int64 // the count, or the gauge in units of its shape
	p     int64 // mean increment, or widest move
}

// newSource draws where a source begins and how fast it moves.
func newSource(s shape, r *random) source {
	x := r.next()
	switch s {
	case busy:
		p := int64(64) << (x % 15) // 6 to 100,000 a second
		return source{s, int64(r.next() >> 24), p}
	case idle:
		return source{s, int64(x >> 40), 0}
	case pages:
		return source{s, int64(x >> 44), 64}
	case whole:
		v := int64(16) << (x % 8)
		return source{s, v, max(1, v>>4)}
	case decimal:
		return source{s, int64(x % 10000), 20}
	case fine:
		return source{s, int64(x >> 12), 1 << 47}
	}
	return source{s, int64(x>>20%4) * int64(x>>40), 0}
}

// next moves the source on by one reading.
func (s *source) next(r *random) {
	switch s.shape {
	case constant:
	case idle:
		if x := r.next(); x%64 == 0 {
			s.v += int64(x >> 6 % 4)
		}
	case busy: // the mean increment, a quarter up or down
		s.v += s.p + s.p*int64(int16(r.next()))>>17
	default: // a walk that does not go below zero
		if s.v += s.p * int64(int16(r.next())) >> 15; s.v < 0 {
			s.v = -s.v
		}
	}
}

// float returns the reading of a gauge.
func (s *source) float() float64 {
	switch s.shape {
	case pages:
		return float64(s.v * 4096)
	case decimal:
		return float64(s.v) / 100
	case fine:
		return float64(s.v) / (1 << 46)
	}
	return float64(s.v)
}

// A random draws from a sequence that its seed decides (splitmix64).
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A kind is how a source's reading is typed, and written where.
type kind uint8

const (
	gauge kind = iota
	derive
	counter
)

// reading returns the reading as the store is given it.
func (s *source) reading(k kind) rra.Value {
	switch k {
	case gauge:
		return rra.Float(s.float())
	case derive:
		return rra.Int(s.v)
	}
	return rra.Uint(uint64(s.v))
}

// put writes the reading as collectd does.
func (s *source) put(b []byte, k kind) {
	if k == gauge {
		binary.LittleEndian.PutUint64(b, math.Float64bits(s.float()))
		return
	}
	binary.BigEndian.PutUint64(b, uint64(s.v))
}
