package gmetric

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// FuzzDecode: no datagram crashes the decoder, makes it allocate out of proportion, or comes out otherwise after it
// was encoded again.
func FuzzDecode(f *testing.F) {
	for _, b := range receivertest.Hex(f, filepath.Join(captures, "*.hex")) { // real senders, and each case of the page
		f.Add(b)
	}
	many := example(f, meta("h", "m", "int32", Both))
	binary.BigEndian.PutUint32(many[len(many)-4:], 8000)
	f.Add(append(many, make([]byte, 8*8000)...)) // as many extra elements as fit
	f.Add(many)                                  // and none of them
	f.Add(append(many[:len(many)-4:len(many)-4], 0xff, 0xff, 0xff, 0xff))
	f.Add(example(f, Message{Word: 33, Number: rra.Float(931.5)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		checkAllocation(t, &m, b)
		if err := m.Decode(b); err != nil {
			if r := receivers.ReasonOf(err); r > receivers.Unsupported && r != receivers.Limit {
				t.Errorf("%v: reason %v", err, r)
			}
			return
		}
		packet, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatalf("encode %+v: %v", m, err)
		}
		if len(packet) > len(b) {
			t.Errorf("%d bytes encoded again are %d", len(b), len(packet))
		}
		var again Message
		if err := again.Decode(packet); err != nil {
			t.Fatalf("decode again: %v", err)
		}
		if got, want := plain(&again), plain(&m); !reflect.DeepEqual(got, want) {
			t.Errorf("encoded again:\n%+v\nwas:\n%+v", got, want)
		}
	})
}

// plain returns a copy of m without what is not part of the message.
func plain(m *Message) Message {
	c := m.Clone()
	c.described = nil
	for _, f := range [...]*[]byte{&c.Host, &c.IP, &c.HostName, &c.Name, &c.Type, &c.Units, &c.Name2, &c.Format, &c.Text} {
		*f = append([]byte{}, *f...) // nothing is the same as empty
	}
	for i := range c.Extra {
		c.Extra[i] = Pair{append([]byte{}, c.Extra[i].Key...), append([]byte{}, c.Extra[i].Value...)}
	}
	return c
}

// checkAllocation: the extra elements take six times their bytes; besides there is an error's text.
func checkAllocation(t *testing.T, m *Message, b []byte) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = m.Decode(b) // any outcome is fine
	runtime.ReadMemStats(&after)
	// The allocator rounds up to its size classes; other goroutines of the test allocate too.
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(8*len(b)+32<<10); got > most {
		t.Errorf("decoding %d bytes allocated %d, more than %d", len(b), got, most)
	}
}

// FuzzReceive: no sequence of datagrams crashes a receiver, and each value in it is stored, kept, or counted. The input is
// datagrams with a byte before each: its length in words, and whether half a minute passes first.
func FuzzReceive(f *testing.F) {
	for _, name := range []string{"gmetric-3.7.2.hex", "gmetric-3.0-embedded.hex", "handbuilt.hex"} {
		var all []byte
		for _, b := range receivertest.Hex(f, filepath.Join(captures, name)) {
			if len(b) <= 4*0x7f {
				all = append(append(all, byte((len(b)+3)/4)), b...)
				all = append(all, make([]byte, -len(b)&3)...)
			}
		}
		f.Add(all)
		f.Add(bytes.ReplaceAll(all, []byte{0, 0, 0, 0x85}, []byte{0, 0, 0, 0x84}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rec := new(receivertest.Recorder)
		now := time.Unix(began, 0)
		s := offline(rec, receivers.Config{Now: func() time.Time { return now }})
		s.cache.most = 20
		s.every = 0
		values := uint64(0)
		for len(b) > 0 {
			n := 4 * int(b[0]&0x7f)
			if b[0]&0x80 != 0 {
				now = now.Add(holdFor)
			}
			n = min(n, len(b)-1)
			s.begin()
			s.datagram(b[1:1+n], loopback)
			if s.msg.Word.Value() && s.msg.Decode(b[1:1+n]) == nil {
				values++
			}
			s.resolve(t.Context())
			s.tick(t.Context())
			if len(s.held.byEntry) > len(s.held.order) {
				t.Fatalf("%d values held, %d in order", len(s.held.byEntry), len(s.held.order))
			}
			b = b[1+n:]
		}
		s.close()
		st := s.Stats()
		if stored := uint64(len(rec.Samples())); stored != st.Samples {
			t.Errorf("%d samples stored, %d counted", stored, st.Samples)
		}
	})
}

// TestAllocates: neither decoder nor receiver allocates anything once a metric is known.
func TestAllocates(t *testing.T) {
	sink := new(receivertest.Recorder)
	now := time.Unix(began, 0)
	s := offline(sink, receivers.Config{Now: func() time.Time { return now }})
	defer s.close()
	m := meta("host", "metric", "uint32", Positive)
	m.Extra = []Pair{{[]byte("GROUP"), []byte("g")}, {[]byte("DESC"), []byte("what it is")}}
	typed := value("host", "typed", "")
	typed.Word, typed.Number = WordDouble, rra.Float(1.5)
	var packets [][]byte
	for _, m := range []Message{
		m, value("host", "metric", "4294967295"), meta("host", "float", "double", Both), value("host", "float", "-1234.56789e-3"),
		meta("host", "typed", "double", Both), typed, meta("host", "text", "string", Zero), value("host", "text", "some text"),
		{Word: 15, Number: rra.Float(0.25)}, {Word: 26, Number: rra.Uint(1)},
		{Word: WordGmetric, Type: []byte("uint8"), Name: []byte("old"), Text: []byte("255"), Units: []byte("n")},
	} {
		packets = append(packets, example(t, m))
	}
	run := func() {
		s.begin()
		for _, b := range packets {
			s.datagram(b, loopback)
		}
		s.resolve(t.Context())
		s.tick(t.Context())
	}
	run()
	s.queue.Flush()
	until(t, "it is stored", func() bool { return len(sink.Samples()) > 0 })
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Errorf("%v allocations for %d messages, want none", n, len(packets))
	}
	if st := s.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("%+v, want no drop", st)
	}
}
