package statsd

import (
	"math"
	"math/bits"
)

const (
	// exactMembers is how many members of a set are counted exactly.
	exactMembers = 4096
	// registers is the number of registers of a sketch: it takes 16 KiB, and errs by 0.8 per cent.
	registerBits = 14
	registers    = 1 << registerBits
)

// A set counts different members by their hashes: exactly up to exactMembers, then by a HyperLogLog
// sketch, which takes the same memory however many there are. The zero value is empty.
type set struct {
	exact  map[uint64]struct{} // nil: there is a sketch
	sketch []uint8             // by register, the longest run of zero bits, and one
}

// add adds a member by its hash.
func (s *set) add(hash uint64) {
	if s.sketch != nil {
		s.note(hash)
		return
	}
	if s.exact == nil {
		s.exact = make(map[uint64]struct{})
	}
	s.exact[hash] = struct{}{}
	if len(s.exact) > exactMembers {
		s.sketch = make([]uint8, registers)
		for h := range s.exact {
			s.note(h)
		}
		s.exact = nil
	}
}

func (s *set) note(hash uint64) {
	run := uint8(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1))) + 1
	r := &s.sketch[hash>>(64-registerBits)]
	*r = max(*r, run)
}

// count returns how many members there are.
func (s *set) count() float64 {
	if s.sketch == nil {
		return float64(len(s.exact))
	}
	sum, empty := 0.0, 0
	for _, r := range s.sketch {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	const m = float64(registers)
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/float64(empty))
	}
	return math.Round(estimate)
}
