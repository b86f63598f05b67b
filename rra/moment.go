package rra

import "math/bits"

// maxLanes is how many lanes the straight path handles: moment.closing has a bit for each.
const maxLanes = 64

// reciprocal returns 2^64/d, rounded up. It divides by d without a division: for i below 2^32 the
// high half of i*reciprocal(d) is i/d, and i is a multiple of d if the low half is less than
// reciprocal(d) (Lemire, Kaser, Kurz 2019: "Faster remainder by direct computation").
func reciprocal(d int64) uint64 { return ^uint64(0)/uint64(d) + 1 }

// A moment caches what depends only on the times of a step. Series of one Machine that step from
// the same time to the same time share it. It is filled in again when the times differ. The zero
// value is ready.
type moment struct {
	m    *Machine
	at   Time
	last uint64 // time of the last update, as in the state

	sec, from uint64  // seconds of at and last
	iv        float64 // seconds from last to at
	pre, post float64 // seconds from last to end, and from end to at
	end       uint64  // second at which the open PDP ends
	k         uint64  // number of the PDP that begins there
	closing   uint64  // bit i: a row of lane i ends there
	ok        bool    // the straight path can handle these times
}

// make fills mo in for a step from last to at.
func (mo *moment) make(m *Machine, last uint64, at Time) {
	*mo = moment{m: m, at: at, last: last, sec: uint64(at) / 1e6, from: last / 1e6}
	if uint64(at) <= last || mo.sec >= 1<<32 {
		return
	}
	step := uint64(m.step)
	first := mo.from
	if step > 1 {
		first, _ = bits.Mul64(mo.from, m.stepMagic)
	}
	micro, fromMicro := at.Micro(), Time(last).Micro()
	mo.iv = float64(mo.sec-mo.from) + float64(micro-fromMicro)/1e6
	mo.k = first + 1
	mo.end = mo.k * step
	if mo.ok = mo.sec < mo.end+step; !mo.ok {
		return
	}
	mo.pre = float64(int64(mo.end)-int64(mo.from)) - float64(fromMicro)/1e6
	mo.post = float64(int64(mo.sec)-int64(mo.end)) + float64(micro)/1e6
	for i := range m.lanes {
		if l := &m.lanes[i]; mo.k*l.magic < l.magic {
			mo.closing |= 1 << i
		}
	}
}
