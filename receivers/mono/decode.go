package mono

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

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

// A Decoder reads what one agent sends. The zero value is ready.
//
// Errors are of type *receivers.Error, or come from the reader. After an error of the former the
// rest of the stream cannot be read, because nothing shows where the next message begins. Complete
// messages before the error have been handed over.
type Decoder struct {
	input
	h        Handler // during Decode
	inside   bool    // a message is being read
	greeted  bool
	readings []Reading
	at       map[int16]int32 // index → position; without those removed
	names    int             // bytes of names in readings

	pending []pending // values of a sample that is not whole
	changed []int
	last    int32 // position of the last value

	pairs     []Pair // of a list that is not whole
	pairBytes int
}

// A pending is a value of an incomplete sample.
type pending struct {
	bits     uint64
	position int32
}

// readBytes is how many bytes are read at once from one agent.
const readBytes = 16 << 10

// Decode reads in, calls h for each complete message, and returns why it has ended. If that is
// between messages, as after io.EOF, another Decode may go on.
func (d *Decoder) Decode(in io.Reader, h Handler) error {
	if d.in == nil {
		d.in = bufio.NewReaderSize(nil, readBytes)
	}
	d.in.Reset(in)
	d.h, d.err = h, nil
	for d.err == nil {
		d.message()
	}
	return d.err
}

// Close returns an error if the stream must not end here: inside a message, or after an error.
func (d *Decoder) Close() error {
	if wrong, ok := errors.AsType[*receivers.Error](d.err); ok {
		return wrong
	}
	if d.inside {
		d.err = nil
		d.fail(receivers.Truncated, d.read+int64(d.in.Buffered()), "the stream ends inside a message")
		return d.err
	}
	return nil
}

// Readings returns the counters with their last values, in the order in which they were announced.
// A counter keeps its position when others are removed. The result is valid until the decoder reads
// on.
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

// Held returns about how many bytes of memory d takes beside its buffer.
func (d *Decoder) Held() int {
	return d.names + readingBytes*len(d.readings) + pendingBytes*cap(d.pending) + pairBytes*cap(d.pairs) + d.pairBytes
}

// message reads one message.
func (d *Decoder) message() {
	start := d.read
	d.inside = false
	c := d.next(1)[0]
	if d.err != nil {
		return
	}
	d.inside = true
	switch {
	case c > cmdSample:
		d.fail(receivers.Unsupported, start, "command %d", c)
	case c == cmdHello && d.greeted:
		d.fail(receivers.State, start, "a second hello")
	case c != cmdHello && !d.greeted:
		d.fail(receivers.State, start, "command %d before hello", c)
	default:
		[...]func(*Decoder){(*Decoder).hello, (*Decoder).list, (*Decoder).added, (*Decoder).removed, (*Decoder).sample}[c](d)
	}
}

func (d *Decoder) hello() {
	version, count := d.int16(), d.int16()
	switch {
	case version != Version:
		d.fail(receivers.Unsupported, d.read-4, "version %d", version)
	case count < 0 || count > MaxCounters:
		d.fail(receivers.Limit, d.read-2, "%d counters, at most %d are allowed", count, MaxCounters)
	}
	d.greeted = true
	for ; count > 0 && d.err == nil; count-- {
		d.counter()
	}
	if d.err == nil {
		d.h.Hello()
	}
}

// counter reads a header and makes a reading of it.
func (d *Decoder) counter() {
	category := d.int32()
	at := d.read
	name, _ := d.text()
	if name == "" {
		d.fail(receivers.Malformed, at, "a counter without a name")
	}
	c := Counter{
		Category: Category(category), Name: name,
		Type: Type(d.int32()), Unit: Unit(d.int32()), Variance: Variance(d.int32()), Index: d.int16(),
	}
	switch _, taken := d.at[c.Index]; {
	case c.Type < Int || c.Type > Double:
		d.fail(receivers.Malformed, d.read-14, "counter %q has the type %d", name, c.Type)
	case c.Index < 0:
		d.fail(receivers.Malformed, d.read-2, "counter %q has the index %d", name, c.Index)
	case taken:
		d.fail(receivers.Malformed, d.read-2, "two counters have the index %d", c.Index)
	}
	if d.err != nil {
		return
	}
	if d.at == nil {
		d.at = make(map[int16]int32)
	}
	d.at[c.Index] = int32(len(d.readings))
	d.readings = append(d.readings, Reading{Counter: c})
	d.names += len(c.Name)
}

// list reads pairs. A null string in place of the first of a pair ends the list.
func (d *Decoder) list() {
	for {
		at := d.read
		first, end := d.text()
		switch {
		case d.err != nil:
			return
		case end:
			d.h.List(d.pairs)
			d.pairs, d.pairBytes = nil, 0
			return
		case len(d.pairs) == MaxPairs:
			d.fail(receivers.Limit, at, "a list of more than %d counters", MaxPairs)
		}
		at = d.read
		second, null := d.text()
		if null {
			d.fail(receivers.Malformed, at, "a list ends inside a pair")
		}
		d.pairs = append(d.pairs, Pair{first, second})
		d.pairBytes += len(first) + len(second)
	}
}

func (d *Decoder) status() Status {
	s := d.next(1)[0]
	if s > byte(Existing) {
		d.fail(receivers.Malformed, d.read-1, "status %d", s)
	}
	return Status(s)
}

func (d *Decoder) added() {
	s, position := d.status(), -1
	if s == OK {
		d.counter()
		position = len(d.readings) - 1
	}
	if d.err == nil {
		d.h.Added(s, position)
	}
}

func (d *Decoder) removed() {
	if s := d.status(); d.err == nil {
		d.h.Removed(s)
	}
}

// sample reads a sample. Only complete samples change the readings.
func (d *Decoder) sample() {
	ticks := int64(binary.LittleEndian.Uint64(d.next(8)))
	d.pending, d.last = d.pending[:0], -1
	for need := 2; need > 0 && d.err == nil; {
		if _, d.err = d.in.Peek(need); d.err == nil {
			b, _ := d.in.Peek(d.in.Buffered()) // what has arrived
			var n int
			n, need = d.values(b)
			d.skip(n)
		}
	}
	if d.err != nil {
		return
	}
	d.changed = d.changed[:0]
	for _, p := range d.pending {
		r := &d.readings[p.position]
		r.Bits, r.Known = p.bits, true
		d.changed = append(d.changed, int(p.position))
	}
	d.h.Sample(ticks, d.changed)
}

// values reads the values of a sample, as many as b has, and returns how many bytes they have. need
// is how many bytes the next has at least; 0: there is none.
func (d *Decoder) values(b []byte) (n, need int) {
	for {
		v := b[n:]
		if len(v) < 2 {
			return n, 2
		}
		index := int16(binary.LittleEndian.Uint16(v))
		if index < 0 {
			return n + 2, 0
		}
		if len(v) < 4 {
			return n, 4
		}
		i, ok := d.find(index)
		if !ok {
			d.fail(receivers.State, d.read+int64(n), "a value of counter %d, which was not announced", index)
			return n, 0
		}
		size := int(int16(binary.LittleEndian.Uint16(v[2:])))
		t := d.readings[i].Type
		if !t.takes(size) {
			d.fail(receivers.Malformed, d.read+int64(n)+2, "a value of %d bytes for counter %d of type %v", size, index, t)
			return n, 0
		}
		if len(d.pending) == MaxValues {
			d.fail(receivers.Limit, d.read+int64(n), "more than %d values in a sample", MaxValues)
			return n, 0
		}
		if len(v) < 4+size {
			return n, 4 + size
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
