package mono

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A Handler takes the messages of an agent.
type Handler interface {
	// Hello is the first message; the counters are in Readings.
	Hello()
	// Sample is a sample. The readings at the positions changed have new values; all others keep
	// their last values. changed is valid until Sample returns.
	Sample(ticks int64, changed []int)
	// List is the answer to a list request.
	List(pairs []Pair)
	// Added is the answer to an add request. If s is OK, the new reading is at position; otherwise
	// position is -1.
	Added(s Status, position int)
	// Removed is the answer to a remove request. If s is OK, the handler must call Forget with the
	// index in the request.
	Removed(s Status)
}

// A Reading is a counter and its last value.
type Reading struct {
	Counter
	Bits    uint64 // as in Value
	Known   bool   // there is a value
	Removed bool   // the counter is no longer sampled
}

// Value returns the last value; unknown if there is none.
func (r *Reading) Value() rra.Value {
	if !r.Known {
		return rra.Unknown
	}
	return valueOf(r.Type, r.Bits)
}

// A Decoder reads what one agent sends, in pieces of any size. The zero value is ready.
//
// Errors are of type *receivers.Error. After an error the rest of the stream cannot be read,
// because nothing shows where the next message begins. Complete messages before the error have been
// handed over.
type Decoder struct {
	in       stream
	h        Handler // during Feed
	state    state
	greeted  bool
	left     int // headers that a hello still has
	readings []Reading
	at       map[int16]int32 // index → position; without those removed
	names    int             // bytes of names in readings

	ticks   int64
	pending []pending // values of a sample that is not whole
	changed []int
	last    int32 // position of the last value

	pairs     []Pair // of a list that is not whole
	pairBytes int
	first     string
}

// A pending is a value of an incomplete sample.
type pending struct {
	bits     uint64
	position int32
}

// A state is what comes next.
type state uint8

const (
	atCommand state = iota
	atHello
	atHeader
	atFirst  // of a pair
	atSecond // of a pair
	atAdded
	atAddedHeader
	atRemoved
	atTicks
	atValue
)

// Feed reads p, and calls h for each complete message.
func (d *Decoder) Feed(p []byte, h Handler) error {
	d.h = h
	err := d.in.feed(p, d.take)
	d.h = nil
	return err
}

// Close returns an error if the stream must not end here: inside a message, or after an error.
func (d *Decoder) Close() error {
	if d.in.err == nil && (d.state != atCommand || len(d.in.buf) > 0) {
		d.in.err = failure(receivers.Truncated, d.in.read+int64(len(d.in.buf)), "the stream ends inside a message")
	}
	return d.in.err
}

// Readings returns the counters with their last values, in the order in which they were announced.
// A counter keeps its position when others are removed. The result is valid until the next Feed.
func (d *Decoder) Readings() []Reading { return d.readings }

// Forget removes the counter with an index, and reports whether there was one.
func (d *Decoder) Forget(index int16) bool {
	i, ok := d.at[index]
	if ok {
		delete(d.at, index)
		d.readings[i].Removed, d.readings[i].Known = true, false
	}
	return ok
}

// About how many bytes of memory each takes, without its texts.
const (
	readingBytes = 128
	pendingBytes = 24
	pairBytes    = 32
)

// Held returns about how many bytes of memory d takes.
func (d *Decoder) Held() int {
	return cap(d.in.buf) + d.names + readingBytes*len(d.readings) + pendingBytes*cap(d.pending) + pairBytes*cap(d.pairs) + d.pairBytes
}

func (d *Decoder) fail(r receivers.Reason, off int, format string, args ...any) (int, int, error) {
	return 0, 0, failure(r, d.in.read+int64(off), format, args...)
}

// take is the element function of an agent's messages.
func (d *Decoder) take(b []byte) (n, need int, err error) {
	switch d.state {
	case atCommand:
		return d.takeCommand(b)
	case atHello:
		return d.takeHello(b)
	case atHeader:
		return d.takeHeader(b)
	case atFirst, atSecond:
		return d.takePair(b)
	case atAdded, atRemoved:
		return d.takeStatus(b)
	case atAddedHeader:
		if n, need, err = d.header(b); n > 0 {
			d.state = atCommand
			d.h.Added(OK, len(d.readings)-1)
		}
		return n, need, err
	case atTicks:
		if len(b) < 8 {
			return 0, 8, nil
		}
		d.ticks = int64(binary.LittleEndian.Uint64(b))
		d.state, d.pending, d.last = atValue, d.pending[:0], -1
		return 8, 0, nil
	}
	return d.takeValues(b)
}

func (d *Decoder) takeCommand(b []byte) (n, need int, err error) {
	switch {
	case b[0] > cmdSample:
		return d.fail(receivers.Unsupported, 0, "command %d", b[0])
	case b[0] == cmdHello && d.greeted:
		return d.fail(receivers.State, 0, "a second hello")
	case b[0] != cmdHello && !d.greeted:
		return d.fail(receivers.State, 0, "command %d before hello", b[0])
	}
	d.state = [...]state{cmdHello: atHello, cmdList: atFirst, cmdAdd: atAdded, cmdRemove: atRemoved, cmdSample: atTicks}[b[0]]
	return 1, 0, nil
}

func (d *Decoder) takeHello(b []byte) (n, need int, err error) {
	if len(b) < 4 {
		return 0, 4, nil
	}
	version, count := int16(binary.LittleEndian.Uint16(b)), int16(binary.LittleEndian.Uint16(b[2:]))
	switch {
	case version != Version:
		return d.fail(receivers.Unsupported, 0, "version %d", version)
	case count < 0 || count > MaxCounters:
		return d.fail(receivers.Limit, 2, "%d counters, at most %d are allowed", count, MaxCounters)
	}
	d.greeted, d.left = true, int(count)
	d.helloed()
	return 4, 0, nil
}

// helloed ends the hello if all its counters have come.
func (d *Decoder) helloed() {
	if d.state = atHeader; d.left == 0 {
		d.state = atCommand
		d.h.Hello()
	}
}

func (d *Decoder) takeHeader(b []byte) (n, need int, err error) {
	if n, need, err = d.header(b); n > 0 {
		d.left--
		d.helloed()
	}
	return n, need, err
}

// header reads a header and makes a reading of it.
func (d *Decoder) header(b []byte) (n, need int, err error) {
	const before, after = 4, 14 // bytes of a header before the name, and after it
	if len(b) < before {
		return 0, before + 4, nil
	}
	name, null, n, need, err := d.in.text(b[before:], before)
	switch {
	case err != nil:
		return 0, 0, err
	case null || n == 4:
		return d.fail(receivers.Malformed, before, "a counter without a name")
	case n == 0:
		return 0, before + need, nil
	case len(b) < before+n+after:
		return 0, before + n + after, nil
	}
	rest := b[before+n:]
	c := Counter{
		Category: Category(binary.LittleEndian.Uint32(b)),
		Type:     Type(binary.LittleEndian.Uint32(rest)),
		Unit:     Unit(binary.LittleEndian.Uint32(rest[4:])),
		Variance: Variance(binary.LittleEndian.Uint32(rest[8:])),
		Index:    int16(binary.LittleEndian.Uint16(rest[12:])),
	}
	switch _, taken := d.at[c.Index]; {
	case c.Type < Int || c.Type > Double:
		return d.fail(receivers.Malformed, before+n, "counter %q has the type %d", name, c.Type)
	case c.Index < 0:
		return d.fail(receivers.Malformed, before+n+12, "counter %q has the index %d", name, c.Index)
	case taken:
		return d.fail(receivers.Malformed, before+n+12, "two counters have the index %d", c.Index)
	}
	c.Name = string(name)
	if d.at == nil {
		d.at = make(map[int16]int32)
	}
	d.at[c.Index] = int32(len(d.readings))
	d.readings = append(d.readings, Reading{Counter: c})
	d.names += len(c.Name)
	return before + n + after, 0, nil
}

// takePair reads one member of a pair. A null string in place of the first ends the list.
func (d *Decoder) takePair(b []byte) (n, need int, err error) {
	text, null, n, need, err := d.in.text(b, 0)
	switch {
	case n == 0:
		return 0, need, err
	case null && d.state == atSecond:
		return d.fail(receivers.Malformed, 0, "a list ends inside a pair")
	case null:
		d.state = atCommand
		d.h.List(d.pairs)
		d.pairs, d.pairBytes = nil, 0
	case d.state == atFirst && len(d.pairs) == MaxPairs:
		return d.fail(receivers.Limit, 0, "a list of more than %d counters", MaxPairs)
	case d.state == atFirst:
		d.state, d.first = atSecond, string(text)
	default:
		d.state, d.pairs = atFirst, append(d.pairs, Pair{d.first, string(text)})
		d.pairBytes += len(d.first) + len(text)
	}
	return n, 0, nil
}

func (d *Decoder) takeStatus(b []byte) (n, need int, err error) {
	s := Status(b[0])
	switch {
	case s > Existing:
		return d.fail(receivers.Malformed, 0, "status %d", b[0])
	case d.state == atAdded && s == OK:
		d.state = atAddedHeader
	case d.state == atAdded:
		d.state = atCommand
		d.h.Added(s, -1)
	default:
		d.state = atCommand
		d.h.Removed(s)
	}
	return 1, 0, nil
}

// takeValues reads the values of a sample, as many as b has.
func (d *Decoder) takeValues(b []byte) (n, need int, err error) {
	for {
		v := b[n:]
		if len(v) < 2 {
			return n, 2, nil
		}
		index := int16(binary.LittleEndian.Uint16(v))
		if index < 0 {
			d.sampled()
			return n + 2, 0, nil
		}
		if len(v) < 4 {
			return n, 4, nil
		}
		i, ok := d.find(index)
		if !ok {
			return d.fail(receivers.State, n, "a value of counter %d, which was not announced", index)
		}
		size := int(int16(binary.LittleEndian.Uint16(v[2:])))
		t := d.readings[i].Type
		if !t.takes(size) {
			return d.fail(receivers.Malformed, n+2, "a value of %d bytes for counter %d of type %v", size, index, t)
		}
		if len(d.pending) == MaxValues {
			return d.fail(receivers.Limit, n, "more than %d values in a sample", MaxValues)
		}
		if len(v) < 4+size {
			return n, 4 + size, nil
		}
		var bits uint64
		if size == 4 {
			bits = uint64(int64(int32(binary.LittleEndian.Uint32(v[4:]))))
		} else {
			bits = binary.LittleEndian.Uint64(v[4:])
		}
		d.pending = append(d.pending, pending{bits, i})
		n += 4 + size
	}
}

// find returns the position of a counter. Values mostly come in the order of the counters.
func (d *Decoder) find(index int16) (int32, bool) {
	i := d.last + 1
	if int(i) >= len(d.readings) || d.readings[i].Index != index || d.readings[i].Removed {
		var ok bool
		if i, ok = d.at[index]; !ok {
			return 0, false
		}
	}
	d.last = i
	return i, true
}

// sampled ends a sample. Only complete samples change the readings.
func (d *Decoder) sampled() {
	d.state, d.changed = atCommand, d.changed[:0]
	for _, p := range d.pending {
		r := &d.readings[p.position]
		r.Bits, r.Known = p.bits, true
		d.changed = append(d.changed, int(p.position))
	}
	d.h.Sample(d.ticks, d.changed)
}
