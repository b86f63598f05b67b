package smon

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/receivers"
)

// A datum is what an encoder is given in one call: a value, a text or a reset.
type datum struct {
	typ   Type // 0: a reset
	name  string
	index []uint64
	v     uint64
	text  string
}

func number(name string, v uint64, index ...uint64) datum {
	return datum{typ: Unsigned, name: name, v: v, index: index}
}

func textOf(name, s string, index ...uint64) datum {
	return datum{typ: String, name: name, text: s, index: index}
}

func (d datum) encode(e *Encoder) error {
	switch d.typ {
	case Unsigned:
		return e.Unsigned(d.name, d.index, d.v)
	case String:
		return e.String(d.name, d.index, []byte(d.text))
	}
	e.Reset()
	return nil
}

func (d datum) String() string {
	return fmt.Sprintf("%c %q %v %d %q", d.typ, d.name, d.index, d.v, d.text)
}

// A collector is a Handler that collects data.
type collector struct {
	data []datum
	errs []string
}

func (c *collector) Declare(*Token) {}

func (c *collector) Unsigned(t *Token, index []uint64, v uint64) {
	c.data = append(c.data, number(t.Name, v, slices.Clone(index)...))
}

func (c *collector) String(t *Token, index []uint64, s []byte) {
	c.data = append(c.data, textOf(t.Name, string(s), slices.Clone(index)...))
}

func (c *collector) Invalid(err *receivers.Error) { c.errs = append(c.errs, err.Error()) }
func (c *collector) Reset()                       { c.data = append(c.data, datum{}) }

func lines(ds []datum) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

// TestEncode: the bytes for a few sequences, all of them as short as the protocol allows.
func TestEncode(t *testing.T) {
	for _, test := range []struct {
		name string
		data []datum
		want string
	}{
		{
			"the page's examples",
			[]datum{textOf("mon.version", "0.0.0"), textOf("mon.compiled", "Sep 12 2004")},
			"00 0c 736d6f6e2e76657273696f6e 01 05 302e302e30 f000 0d 736d6f6e2e636f6d70696c6564 02 0b 5365702031322032303034",
		},
		{
			"differences",
			[]datum{number("abc", 5), number("abc", 228), number("abc", 452), number("abc", 452), number("abc", 451), number("abc", 70000)},
			"00 04 75616263 01 05  00df  00e000  0000  00e801  00f2011170",
		},
		{
			"as itself where that is shorter",
			[]datum{number("abc", 1<<40), number("abc", 7), number("abc", 1<<64-1), number("abc", 1<<64-2), number("abc", 0)},
			"00 04 75616263 01 e4ffffffff20  00f007  00f7ffffffffffffffff  00e801  00f000",
		},
		{
			"an append goes on, a replacement starts again",
			[]datum{textOf("abc", "ab"), textOf("abc", "abc"), textOf("abc", "abc"), textOf("abc", "b"), textOf("abc", "")},
			"00 04 73616263 01 026162  000163  0000  00f00162  00f000",
		},
		{
			"lengths",
			[]datum{textOf("abc", strings.Repeat("x", 223)), textOf("abc", strings.Repeat("x", 447)), textOf("abd", strings.Repeat("y", 480))},
			"00 04 73616263 01 df" + strings.Repeat("78", 223) + "00e000" + strings.Repeat("78", 224) + "f000 04 73616264 02 e10100" + strings.Repeat("79", 480),
		},
		{
			"each run of 16 FF is stuffed",
			[]datum{textOf("abc", strings.Repeat("\xff", 33)), textOf("abc", strings.Repeat("\xff", 16))},
			"00 04 73616263 01 21" + strings.Repeat("ff", 16) + "fe" + strings.Repeat("ff", 16) + "feff" + "00f010" + strings.Repeat("ff", 16) + "fe",
		},
		{
			"an index used once is said",
			[]datum{number("abc", 1), number("abc", 2, 0), number("abc", 3, 1), number("abc", 4)},
			"00 04 75616263 01 01  fa000001  fdfa010001  fd0001",
		},
		{
			"one used twice gets a token",
			[]datum{number("abc", 100, 3, 0), number("abc", 0, 8, 0), number("abc", 101, 3, 0), number("abc", 1, 8, 0), number("abc", 102, 3, 0), number("abc", 2, 8, 0)},
			"fa03fa00 00 04 75616263 01 64  fdfa08fa0000f000  f000 fd fa03fa00 01 01 65  f000 fd fa08fa00 01 02 01  f00201  0101",
		},
		{
			"an index that goes on, and others",
			[]datum{number("abc", 0, 1, 2), number("abc", 0, 1, 2, 4), number("abc", 0, 9, 2, 4), number("abc", 0, 9)},
			"fa01fa02 00 04 75616263 01 00  fa040000  fdfa09fa02fa040000  fdfa090000",
		},
		{
			"a reset",
			[]datum{number("abc", 1), {}, number("abc", 1)},
			"00 04 75616263 01 01" + strings.Repeat("ff", 19) + "fe 00 04 75616263 01 01",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e Encoder
			for _, d := range test.data {
				if err := d.encode(&e); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := fmt.Sprintf("%x", e.Bytes()), strings.ReplaceAll(test.want, " ", ""); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			checkDecodes(t, e.Bytes(), test.data)
		})
	}
}

// checkDecodes decodes b, which must give want. A reset at a place where the stream makes sense is
// an error of the stream first.
func checkDecodes(t testing.TB, b []byte, want []datum) {
	t.Helper()
	var d Decoder
	var c collector
	d.feed(b, &c)
	if got, want := lines(c.data), lines(want); got != want {
		t.Fatalf("decoded (-want +got):\n%s", cmp.Diff(want, got))
	}
	resets := 0
	for _, d := range want {
		if d.typ == 0 {
			resets++
		}
	}
	if len(c.errs) > resets || d.Pending() != 0 {
		t.Fatalf("%d bytes pending, errors %q", d.Pending(), c.errs)
	}
}

// randomData returns values that senders might have, and some that none has.
func randomData(r *rand.Rand, n int) []datum {
	names := make([]string, 1+r.IntN(12))
	for i := range names {
		names[i] = "n" + strings.Repeat(string(byte('a'+i)), 2+r.IntN(3))
		if r.IntN(20) == 0 {
			names[i] = strings.Repeat("\xff", 255-r.IntN(250))
		}
	}
	indexes := make([][]uint64, 1+r.IntN(8))
	for i := range indexes {
		for range r.IntN(MaxDepth+1) * r.IntN(2) {
			indexes[i] = append(indexes[i], randomNumber(r)%[...]uint64{3, 1000, 1 << 63}[r.IntN(3)])
		}
	}
	last := make(map[string]datum)
	ds := make([]datum, n)
	for i := range ds {
		d := datum{typ: Unsigned, name: names[r.IntN(len(names))], index: indexes[r.IntN(len(indexes))]}
		if r.IntN(4) == 0 {
			d.typ = String
		}
		if r.IntN(200) == 0 {
			d = datum{}
		}
		was := last[d.name+string(d.typ)+fmt.Sprint(d.index)]
		switch d.typ {
		case Unsigned:
			d.v = [...]uint64{was.v, was.v + uint64(r.IntN(300)), was.v - uint64(r.IntN(300)), randomNumber(r)}[r.IntN(4)]
		case String:
			add := strings.Repeat([...]string{"a", "\xff", "é", "\xfe\xff"}[r.IntN(4)], r.IntN(40))
			d.text = [...]string{add, was.text, was.text + add}[r.IntN(3)]
			if r.IntN(100) == 0 {
				d.text = strings.Repeat("x\xff", r.IntN(MaxText/2))
			}
			d.text = d.text[:min(len(d.text), MaxText)]
		}
		last[d.name+string(d.typ)+fmt.Sprint(d.index)] = d
		ds[i] = d
	}
	return ds
}

// randomNumber returns numbers of all lengths.
func randomNumber(r *rand.Rand) uint64 { return r.Uint64() >> r.IntN(64) }

// TestRoundTrip: random sequences come out as they went in.
func TestRoundTrip(t *testing.T) {
	r := seedtest.Rand(t)
	for range 100 {
		ds := randomData(r, 1+r.IntN(300))
		var e Encoder
		for _, d := range ds {
			if err := d.encode(&e); err != nil {
				t.Fatal(err)
			}
		}
		checkDecodes(t, e.Bytes(), ds)
	}
}

// TestSteady: in a stream that has got going a value that has changed little takes two bytes.
func TestSteady(t *testing.T) {
	var e Encoder
	round := func(n uint64) {
		for cpu := range uint64(16) {
			for i, name := range []string{"cpu.user", "cpu.system", "cpu.idle"} {
				if err := e.Unsigned(name, []uint64{cpu}, 1e15*cpu+uint64(i)+100*n); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	round(0)
	round(1)
	round(2)
	e.Clear()
	round(3)
	// 47 values two bytes each, and the first comes after the last: −47.
	if got, want := len(e.Bytes()), 2*47+3; got != want {
		t.Errorf("a round of 48 values takes %d bytes, want %d:\n%x", got, want, e.Bytes())
	}
}

// TestEncodeRefuses: what the protocol has no room for leaves the stream as it was.
func TestEncodeRefuses(t *testing.T) {
	var e Encoder
	if err := e.Unsigned("abc", nil, 1); err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(e.Bytes())
	for _, test := range []struct {
		d    datum
		want error
	}{
		{number("ab", 1), ErrName},
		{number(strings.Repeat("x", 256), 1), ErrName},
		{number("abc", 1, 1, 2, 3, 4, 5, 6, 7, 8, 9), ErrDepth},
		{textOf("abc", strings.Repeat("x", MaxText+1)), ErrText},
	} {
		if err := test.d.encode(&e); !errors.Is(err, test.want) {
			t.Errorf("%v: error %v, want %v", test.d, err, test.want)
		}
	}
	if !bytes.Equal(e.Bytes(), before) {
		t.Errorf("bytes %x, want %x", e.Bytes(), before)
	}
}

// TestEncodeAllTokens: when all numbers are taken, names that are known go on, and so do new
// indexes of theirs.
func TestEncodeAllTokens(t *testing.T) {
	var e Encoder
	put := func(d datum) {
		t.Helper()
		if err := d.encode(&e); err != nil {
			t.Fatal(err)
		}
	}
	for n := range uint64(MaxToken) {
		put(number("n"+strconv.FormatUint(1e6+n, 36), n))
	}
	var c counter
	d := new(Decoder)
	d.feed(e.Bytes(), &c)
	if c.declared != MaxToken || c.unsigned != MaxToken || c.invalid != 0 {
		t.Fatalf("decoded: %+v, want %d tokens and values", c, MaxToken)
	}
	t.Logf("%d tokens make a state of %d bytes", MaxToken, d.Size())
	e.Clear()
	var want []datum
	for n := range uint64(3) {
		want = append(want, number("n"+strconv.FormatUint(1e6, 36), n, 7))
		put(want[n])
	}
	if err := e.Unsigned("one more", nil, 1); !errors.Is(err, ErrTokens) {
		t.Errorf("error %v, want %v", err, ErrTokens)
	}
	var got collector
	d.feed(e.Bytes(), &got)
	if lines(got.data) != lines(want) {
		t.Errorf("decoded %v, want %v", got.data, want)
	}
	e.Reset()
	if err := e.Unsigned("one more", nil, 1); err != nil {
		t.Error(err)
	}
}

// A counter is a Handler that counts.
type counter struct{ declared, unsigned, strings, invalid int }

func (c *counter) Declare(*Token)                    { c.declared++ }
func (c *counter) Unsigned(*Token, []uint64, uint64) { c.unsigned++ }
func (c *counter) String(*Token, []uint64, []byte)   { c.strings++ }
func (c *counter) Invalid(*receivers.Error)          { c.invalid++ }
func (c *counter) Reset()                            {}
