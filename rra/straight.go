package rra

import "math"

// The straight path is a fast version of Step for the common case: the series has neither COMPUTE
// nor Holt-Winters, the readings are numbers, the heartbeats are kept, and at most one PDP ends. It
// performs the floating-point operations of Step in the same order, and leaves out everything else.
// A Block takes it, for one series or for many. TestBlock compares the two.

// maxStraight is how many data sources the straight path handles.
const maxStraight = 32

// prepare decides whether m may take the straight path, and fills in its lanes.
func (m *Machine) prepare() {
	m.stepMagic = reciprocal(m.step)
	for i := range m.archives {
		a := &m.archives[i]
		if a.cf.classical() && a.n > 1 {
			m.lanes = append(m.lanes, lane{folding: a.folding, magic: reciprocal(a.n), off: a.off, stream: a.stream})
		}
	}
	m.straight = len(m.sources) <= maxStraight && len(m.lanes) <= maxLanes && m.inputs == len(m.sources) && !m.family && m.own == nil
}

// straight returns what reading v adds to the open PDP over iv seconds: rate times seconds, or NaN
// if it is unknown. old and meta are the dsBits and dsMeta words of the reading before. ok is false
// if the reading needs the general path.
func (s *source) straight(old, meta uint64, v *Value, iv float64) (n float64, ok bool) {
	oldTag := Tag(meta)
	if s.heartbeat < iv {
		return 0, false
	}
	if v.Tag == TagUnknown {
		return math.NaN(), v.Bits == 0
	}
	var rate float64
	switch s.kind {
	case Gauge, Absolute:
		switch {
		case v.Tag == TagFloat:
			n = math.Float64frombits(v.Bits)
		case isDecimal(*v):
			n = decimalNumber(*v)
		case v.Tag == TagInt && v.Bits+1<<53 > 1<<54, v.Tag == TagUint && v.Bits > 1<<53, v.Tag > TagFloat:
			return 0, false
		default:
			n = float64(int64(v.Bits))
		}
		if s.kind == Absolute {
			rate = n / iv
		} else {
			rate = n
			n = float64(n * iv)
		}
	case Counter, Derive:
		// Both not negative, and less than 2^53 apart: the general path does the rest.
		if int64(v.Bits|old) < 0 || v.Tag > TagUint || oldTag > TagUint {
			return 0, false
		}
		if oldTag == TagUnknown {
			return math.NaN(), true
		}
		d := int64(v.Bits - old)
		if d+1<<53 < 0 || d > 1<<53 {
			return 0, false
		}
		n = float64(d)
		if d < 0 && s.kind == Counter {
			n = unwrap(n)
		}
		rate = n / iv
	default:
		return 0, false
	}
	if rate != rate || rate > s.max || rate < s.min {
		return math.NaN(), true
	}
	return n, true
}
