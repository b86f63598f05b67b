package gmetric

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// FuzzDecode: no datagram crashes the decoder, makes it allocate out of proportion, or comes out
// otherwise after it was encoded again.
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
	c := *m
	c.described, c.Extra = nil, slices.Clone(m.Extra)
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

// TestRandom: no sequence of datagrams, damaged and not, over days of a clock that jumps, crashes a
// receiver; values are stored or counted, whatever comes between metadata and them, and a cache
// that is too small changes nothing.
func TestRandom(t *testing.T) {
	rnd := seedtest.Rand(t)
	all := receivertest.Hex(t, filepath.Join(captures, "*.hex"))
	for range 30 {
		rec := new(receivertest.Recorder)
		now := time.Unix(began, 0)
		s := offline(rec, receivers.Config{Now: func() time.Time { return now }})
		s.cache.Most = 5 + rnd.IntN(100)
		s.every = 0
		values, texts := uint64(0), uint64(0)
		for range 500 {
			b := bytes.Clone(all[rnd.IntN(len(all))])
			switch rnd.IntN(8) {
			case 0: // a text instead of a number, one type instead of another, another host
				if len(b) > 0 {
					b[rnd.IntN(len(b))] = byte(rnd.Uint32())
				}
			case 1:
				b = b[:rnd.IntN(len(b)+1)]
			case 2:
				now = now.Add(time.Duration(rnd.Int64N(int64(time.Minute))))
			case 3:
				if rnd.IntN(20) == 0 {
					now = now.Add(time.Duration(rnd.Int64N(int64(time.Hour))))
				}
			}
			s.begin()
			var m Message
			if m.Decode(b) == nil && (m.Word.Value() || m.Word.Old()) {
				values++
				if _, ok := parse(m.Text); string(m.Name) == heartbeat || m.Number.Tag == rra.TagUnknown && !ok {
					texts++
				}
			}
			s.datagram(b, loopback)
			if rnd.IntN(3) > 0 { // the newcomers of several reads are resolved together
				s.resolve(t.Context())
				s.tick(t.Context())
			}
			if err := s.consistent(); err != nil {
				t.Fatal(err)
			}
		}
		s.close()
		st := s.Stats()
		if stored := uint64(len(rec.Samples())); stored != st.Samples {
			t.Fatalf("%d samples stored, %d counted", stored, st.Samples)
		}
		lost := st.Dropped[receivers.State] + st.Dropped[receivers.Malformed] + st.Dropped[receivers.Overload] + st.Dropped[receivers.Limit]
		if got := st.Samples + lost + texts; got < values {
			t.Fatalf("%d values; %d stored and %d texts at the most, %+v", values, st.Samples, texts, st)
		}
	}
}

// consistent says what contradicts itself in s.
func (s offlineServer) consistent() error {
	if n := len(s.held); n > maxHeld {
		return fmt.Errorf("%d values held", n)
	}
	listed := make(map[uint32]bool)
	for _, i := range s.texts.dirty {
		listed[i] = true
	}
	for i, d := range s.texts.byEntry {
		if d.listed != listed[i] {
			return fmt.Errorf("entry %d says %t of being listed", i, d.listed)
		}
		if d.store && !d.listed {
			return fmt.Errorf("entry %d is to be stored and not listed", i)
		}
	}
	refs := int64(0)
	for i := range s.cache.Len() {
		e := s.cache.At(uint32(i))
		host, name := s.cache.Key(uint32(i))
		if n, ok := s.cache.Find(host, name); !ok || n != uint32(i) {
			return fmt.Errorf("entry %d is found as %d, %t", i, n, ok)
		}
		if e.Ref != 0 {
			refs++
		}
	}
	if refs != s.refs {
		return fmt.Errorf("%d references, %d counted", refs, s.refs)
	}
	return nil
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
		{Word: 15, Number: rra.Float(0.25)},
		{Word: 26, Number: rra.Uint(1)},
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
