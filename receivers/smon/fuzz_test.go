package smon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// someStreams are some that mean something, each with its reason.
func someStreams(t testing.TB) [][]byte {
	var out [][]byte
	for _, c := range readCaptures(t) { // each case of the page
		out = append(out, c.bytes)
	}
	for _, s := range []string{
		strings.Repeat("00037561 62630100", 1) + strings.Repeat("0001", 40), // a length that forgot the type
		"0003756162 01 05",                                         // and one that is short anyway
		"0004 75616263 f1ffff 05",                                  // the last token there may be
		"0004 75616263 f2010000 05",                                // one beyond it
		"0003 756162 63 fa0001 05",                                 // the byte that may belong to the name, then an index code
		"0003 756162 63 f901000000000000000000000000000000 05",     // and a number that is too long
		"0003 736162 63 e805",                                      // and a length that is negative
		"0004 75616263 01 00" + strings.Repeat("fa01", 9) + "0000", // too deep
		"0004 75616263 01 00 fa01fa02fa03fa04 fc08fc07 0001 fc09 0001 fc01fc02fc03fc04 0001",                     // rows of FC
		"0004 75616263 01 00 f000 fdfa01fa02 01 01 05 f000 fd fa09fa09fa09 02 01 05 fd 0001 f001 01",             // a copy of a copy
		"0004 75616263 01 f90000000000000000ffffffffffffffff f900ff0000000000000000000000000000",                 // 16 bytes
		"0004 75616263 01 00" + strings.Repeat("ff", 17) + "fe 0004 75616263 01 05",                              // the shortest reset
		"0004 73616263 01 11" + strings.Repeat("ff", 17) + "fe 0004 75616263 01 05",                              // one in place of a stuffing byte: no error
		"0004 73616263 01 f1ff" + strings.Repeat("ff", 17) + "fe 0004 75616263 01 05",                            // one that begins in a length, and is not seen
		"0004 73616263 01 f1ff" + strings.Repeat("ff", 19) + "fe 0004 75616263 01 05",                            // nor can this one be missed
		strings.Repeat("f000 0004 75616263 f1ffff 00"+strings.Repeat("ff", 17)+"fe", 3),                          // resets one after the other
		"00fdfa07 00 0003 756162 63 01 05",                                                                       // a fresh indexed token whose length forgot the type
		"fafa0000", "fafe", "00fa", "00fdff", "0004 75616263 00 05", "0004 75616263 01 05 f000 0004 75616264 01", // codes and numbers out of place
	} {
		out = append(out, unhex(t, s))
	}
	return out
}

// FuzzDecode: no stream crashes the decoder or makes it allocate out of proportion; however it is
// cut up, it means what the model says; and what it means comes out again after it was encoded.
func FuzzDecode(f *testing.F) {
	for i, b := range someStreams(f) {
		f.Add(b, uint64(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) { checkStream(t, b, seed) })
}

func checkStream(t *testing.T, b []byte, seed uint64) {
	t.Helper()
	checkAllocation(t, b)
	whole, d := decode(b, max(len(b), 1))
	want := recorder{events: []event{}}
	pending, valid := decodeModel(b, &want)
	if got, want := fmt.Sprint(whole), fmt.Sprint(want.events); got != want {
		t.Fatalf("%x is\n%s\nthe model says\n%s", b, got, want)
	}
	if _, invalid := d.Skipped(); d.Pending() != int64(pending) || invalid == valid {
		t.Fatalf("%x: %d bytes pending, invalid %v; the model says %d and %v", b, d.Pending(), invalid, pending, !valid)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	got := recorder{events: []event{}}
	_ = new(Decoder).Decode(&pieces{b, func() int { return 1 + r.IntN(1+r.IntN(64)) }}, &got) // io.EOF
	if got, want := fmt.Sprint(got.events), fmt.Sprint(whole); got != want {
		t.Fatalf("in pieces %x is\n%s\nwhole it is\n%s", b, got, want)
	}
	checkAgain(t, b)
}

// checkAllocation: what is allocated is at most a multiple of the bytes that come; the smallest
// definition of a token has 8 bytes and makes a page of tokens, and texts double when they grow.
func checkAllocation(t *testing.T, b []byte) {
	t.Helper()
	var d Decoder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d.feed(b, new(counter))
	runtime.ReadMemStats(&after)
	// Other goroutines of the test allocate too, and the table of pages has 16 KiB, doubled from
	// nothing.
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64*len(b)+96<<10); got > most {
		t.Errorf("decoding %d bytes allocated %d, more than %d", len(b), got, most)
	}
	if d.Size() > 64*len(b) {
		t.Errorf("%d bytes make a state of %d", len(b), d.Size())
	}
}

func checkAgain(t *testing.T, b []byte) {
	t.Helper()
	var c collector
	new(Decoder).feed(b, &c)
	var e Encoder
	for _, d := range c.data {
		if err := d.encode(&e); err != nil {
			t.Fatalf("%v: %v", d, err)
		}
	}
	checkDecodes(t, e.Bytes(), c.data)
}

// FuzzEncode: whatever is encoded comes out again. The bytes of the input say what is.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0, 0, 1, 2, 3}, 20)) // one token
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		b := make([]byte, 400)
		for i := range b {
			b[i] = byte(r.Uint32() >> r.IntN(25))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ds := dataOf(b)
		var e Encoder
		for _, d := range ds {
			if err := d.encode(&e); err != nil {
				t.Fatal(err)
			}
		}
		checkDecodes(t, e.Bytes(), ds)
	})
}

// dataOf makes data of bytes.
func dataOf(b []byte) []datum {
	take := func(n int) []byte {
		n = min(n, len(b))
		s := b[:n]
		b = b[n:]
		return s
	}
	one := func() int {
		if s := take(1); len(s) > 0 {
			return int(s[0])
		}
		return 0
	}
	long := func() (v uint64) {
		for _, c := range take(one() % 9) {
			v = v<<8 | uint64(c)
		}
		return v
	}
	var ds []datum
	for len(b) > 0 && len(ds) < 1000 {
		d := datum{name: strings.Repeat(string([]byte{byte(one())}), 3+one()%3)}
		for range one() % (MaxDepth + 1) {
			d.index = append(d.index, long())
		}
		switch k := one(); {
		case k < 160:
			d.typ, d.v = Unsigned, long()
		case k < 250:
			d.typ, d.text = String, strings.Repeat(string(take(one()%20)), 1+one()%20)
		default:
			d = datum{}
		}
		ds = append(ds, d)
	}
	return ds
}

// TestLongText: the longest text there may be, again, and one byte more.
func TestLongText(t *testing.T) {
	checkStream(t, unhex(t, "000473616263 01 f2010000"+strings.Repeat("41", MaxText)+"0000 00f2010000"+strings.Repeat("42", MaxText)+"0001"), 1)
}

// TestDamage: streams of the encoder with bits flipped, bytes lost, put in and doubled mean what
// the model says, and nothing hides the reset that comes after.
func TestDamage(t *testing.T) {
	seed := seedtest.One(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		var e Encoder
		for _, d := range randomData(r, 1+r.IntN(40)) {
			if err := d.encode(&e); err != nil {
				t.Fatal(err)
			}
		}
		b := bytes.Clone(e.Bytes())
		for range 1 + r.IntN(5) {
			if i := r.IntN(len(b)); len(b) > 1 {
				switch r.IntN(4) {
				case 0:
					b[i] ^= 1 << r.IntN(8)
				case 1:
					b = append(b[:i], b[i+1:]...)
				case 2:
					b = append(b[:i], append([]byte{byte(r.Uint32() >> r.IntN(25))}, b[i:]...)...)
				case 3:
					b = b[:i+1]
				}
			}
		}
		e = Encoder{out: b}
		e.Reset()
		if err := e.Unsigned("after.reset", nil, 42); err != nil {
			t.Fatal(err)
		}
		checkStream(t, e.Bytes(), seed)
		var c collector
		new(Decoder).feed(e.Bytes(), &c)
		if n := len(c.data); n < 2 || c.data[n-2].typ != 0 || c.data[n-1].String() != number("after.reset", 42).String() {
			t.Fatalf("%x is\n%s\nwant a reset and one value at the end", e.Bytes(), lines(c.data))
		}
	}
}

// TestDecodeAllocates: a decoder that knows its tokens allocates nothing.
func TestDecodeAllocates(t *testing.T) {
	var e Encoder
	round := func(n uint64) {
		for i := range uint64(50) {
			if err := e.Unsigned("cpu.idle", []uint64{i}, n*i*1000); err != nil {
				t.Fatal(err)
			}
			if err := e.String("state", []uint64{i}, []byte("up and running"[:n%14])); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range uint64(15) {
		round(n)
	}
	var d Decoder
	var c counter
	d.feed(e.Bytes(), &c)
	n := uint64(15)
	var in bytes.Reader
	if got := testing.AllocsPerRun(100, func() {
		e.Clear()
		round(n)
		n++
		in.Reset(e.Bytes())
		_ = d.Decode(&in, &c) // io.EOF
	}); got > 0 {
		t.Errorf("%v allocations a round, want none", got)
	}
	if c.invalid > 0 || c.unsigned != c.strings || c.unsigned != 50*int(n) {
		t.Errorf("decoded %+v, want %d values and texts", c, 50*n)
	}
}
