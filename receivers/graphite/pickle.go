package graphite

import (
	"math"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

// Unpickle reads a pickle, and calls take for each point in it. Names are valid until the next
// call. now is the second that a time of -1 stands for. An item of the list that is no point is
// left out: bad is called with what is wrong with it. The error concerns the whole pickle:
// nothing of it is taken then.
func (u *Unpickler) Unpickle(pickle []byte, now int64, take func(Point), bad func(*receivers.Error)) *receivers.Error {
	if len(pickle) > MaxPickle {
		return u.fault(receivers.Limit, "a pickle of %d bytes", len(pickle))
	}
	u.reset(pickle)
	result, err := u.run()
	if err != nil {
		return err
	}
	if result.kind != kindList && result.kind != kindTuple {
		return u.fault(receivers.Malformed, "the pickle holds no list")
	}
	for _, v := range u.of(result) {
		p, err := u.point(v, now)
		if err != nil {
			bad(err)
			continue
		}
		take(p)
	}
	return nil
}

var errPoint = &receivers.Error{Reason: receivers.Malformed, What: "an item is no (PATH, (TIME, VALUE))"}

// point reads an item of the list.
func (u *Unpickler) point(v value, now int64) (p Point, err *receivers.Error) {
	pair := u.of(v)
	if len(pair) != 2 || !pair[0].isText() {
		return p, errPoint
	}
	datum := u.of(pair[1])
	if len(datum) != 2 {
		return p, errPoint
	}
	p.Name = u.textOf(pair[0])
	switch {
	case len(p.Name) == 0:
		return p, errPoint
	case len(p.Name) > MaxName:
		return p, errName
	}
	if p.Time, err = u.second(datum[0], now); err != nil {
		return p, err
	}
	n, ok := u.number(datum[1])
	switch {
	case !ok:
		return p, errValue
	case math.IsNaN(n) || math.IsInf(n, 0):
		return p, errUnknown
	}
	p.Value = n
	return p, nil
}

// second reads a time.
func (u *Unpickler) second(v value, now int64) (int64, *receivers.Error) {
	n, ok := u.number(v)
	if !ok {
		return 0, errTime
	}
	return secondOf(n, now)
}

// number returns a number, which may be a text, as for Python's float.
func (u *Unpickler) number(v value) (float64, bool) {
	switch v.kind {
	case kindInt:
		return float64(int64(v.n)), true
	case kindFloat:
		return math.Float64frombits(v.n), true
	case kindText, kindOwn:
		return decimal.Parse(u.textOf(v))
	}
	return 0, false
}
