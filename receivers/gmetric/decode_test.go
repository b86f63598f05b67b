package gmetric

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

const captures = "../../testdata/captures/gmetric"

// manifest is testdata/captures/gmetric/manifest.json.
type manifest struct {
	Files []struct {
		File, Sender string
		Expected     struct {
			Packets []wantMessage
			Series  map[string]wantSeries
			Strings map[string]string
		}
	}
}

type wantMessage struct {
	Packet                             int
	Format, Kind, Error                string
	Host, Name, Name2, Hostname, IP    string
	Type, Units, Slope, TMax, DMax, ID string
	Key                                string // number of a core metric
	Fmt                                string
	Spoof                              bool
	Extra                              [][2]string
	Value                              any
	ValueError                         string `json:"value_error"`
}

type wantSeries struct {
	DS, Kinds       []string
	Step, Heartbeat int64
	DMax            int64
	Units           string
	Values          []any
}

func readManifest(t testing.TB) *manifest {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

// TestCaptures decodes every capture, compares all of it, to the bit, and encodes it again to the
// same bytes.
func TestCaptures(t *testing.T) {
	for _, f := range readManifest(t).Files {
		t.Run(f.File, func(t *testing.T) {
			packets := receivertest.Hex(t, filepath.Join(captures, f.File))
			if len(packets) != len(f.Expected.Packets) {
				t.Fatalf("%d packets, want %d", len(packets), len(f.Expected.Packets))
			}
			var m Message
			for i, b := range packets {
				before := slices.Clone(b)
				err := m.Decode(b)
				if !slices.Equal(b, before) {
					t.Fatalf("packet %d: the packet was changed", i)
				}
				if diff := cmp.Diff(f.Expected.Packets[i], gotMessage(t, &m, err, &f.Expected.Packets[i])); diff != "" {
					t.Errorf("packet %d (-want +got):\n%s", i, diff)
				}
				if err != nil {
					continue
				}
				again, err := m.AppendBinary(nil)
				if err != nil {
					t.Fatalf("packet %d: encode: %v", i, err)
				}
				// Two of them hold bytes that do not count: padding, and what follows the message.
				if odd := f.File == "handbuilt.hex" && (i == 31 || i == 35); bytes.Equal(again, b) == odd {
					t.Errorf("packet %d: encoded again:\n%x\nwas:\n%x", i, again, b)
				}
			}
		})
	}
}

// gotMessage puts a message in the manifest's words.
func gotMessage(t *testing.T, m *Message, err error, want *wantMessage) wantMessage {
	t.Helper()
	got := wantMessage{Packet: want.Packet}
	if err != nil {
		got.Error = receivers.ReasonOf(err).String()
		return got
	}
	got.Name, got.Format = string(m.Name), "3.1"
	limits := func() {
		got.Units, got.Slope, got.TMax = string(m.Units), m.Slope.String(), fmt.Sprint(m.TMax)
	}
	value := func() {
		got.Value = string(m.Text)
		switch m.Number.Tag {
		case rra.TagInt, rra.TagUint:
			got.Value = string(appendNumber(nil, m.Number))
		case rra.TagFloat:
			got.Value = math.Float64frombits(m.Number.Bits)
		}
	}
	switch {
	case m.Word == WordGmetric:
		got.Format, got.Kind, got.Type, got.DMax = "3.0", "gmetric", string(m.Type), fmt.Sprint(m.DMax)
		limits()
		value()
		if _, err := ParseValue(rra.Gauge, m.Text); err != nil && ParseType(m.Type) != String {
			got.ValueError = receivers.ReasonOf(err).String()
		}
		return got
	case m.Word.Core():
		got.Format, got.Kind, got.Key = "3.0", "core", fmt.Sprint(uint32(m.Word))
		limits()
		value()
		if want.Name == heartbeat {
			got.Slope = "" // nobody asks
		}
		return got
	case m.Word == WordMetadata:
		got.Kind, got.Type, got.Name2, got.DMax = "metadata", string(m.Type), string(m.Name2), fmt.Sprint(m.DMax)
		limits()
		got.Extra = [][2]string{}
		for _, p := range m.Extra {
			got.Extra = append(got.Extra, [2]string{string(p.Key), string(p.Value)})
		}
	case m.Word.Value():
		got.Kind, got.ID, got.Fmt = "value", fmt.Sprint(uint32(m.Word)), string(m.Format)
		value()
	case m.Word == WordRequest:
		got.Kind = "request"
	}
	got.Host, got.Spoof = string(m.Host), m.Spoof
	if m.Word != WordRequest {
		got.Hostname, got.IP = string(m.HostName), string(m.IP)
	}
	return got
}

// TestDecodeErrors: each way in which a message can be wrong, with the place.
func TestDecodeErrors(t *testing.T) {
	good := example(t, Message{
		Word: WordMetadata, Host: []byte("10.0.0.1:h"), Spoof: true, Name: []byte("abc"), Type: []byte("int8"), Name2: []byte("abc"),
		Units: []byte("n"), TMax: 60, Extra: []Pair{{[]byte("GROUP"), []byte("g")}},
	})
	for n := range good {
		var e *receivers.Error
		if err := new(Message).Decode(good[:n]); !errors.As(err, &e) || e.Reason != receivers.Truncated || e.Offset > n {
			t.Errorf("%d bytes of %d: %v, want truncated", n, len(good), err)
		}
	}
	long := string(bytes.Repeat([]byte("x"), maxString+1))
	for _, test := range []struct {
		name   string
		packet string
		reason receivers.Reason
		offset int
	}{
		{"nothing", "", receivers.Truncated, 0},
		{"between the formats", "\x00\x00\x00\x33", receivers.Unsupported, 0},
		{"above", "\x00\x00\x00\x89", receivers.Unsupported, 0},
		{"all ones", "\xff\xff\xff\xff", receivers.Unsupported, 0},
		{"string of 4 GB", "\x00\x00\x00\x80\xff\xff\xff\xff", receivers.Truncated, 4},
		{"string that is not all there, and too long", "\x00\x00\x00\x00\x00\x00\x05\xc4" + long[:10], receivers.Truncated, 4},
		{"string that is too long", "\x00\x00\x00\x00\x00\x00\x05\xc1" + long + "\x00\x00\x00", receivers.Limit, 4},
		{"no padding", "\x00\x00\x00\x08\x00\x00\x00\x01x", receivers.Truncated, 4},
		{"no name", "\x00\x00\x00\x84\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", receivers.Malformed, 8},
		{"neither true nor false", "\x00\x00\x00\x84\x00\x00\x00\x00\x00\x00\x00\x01x\x00\x00\x00\x00\x00\x00\x02", receivers.Malformed, 16},
		{"spoofed request without a host", "\x00\x00\x00\x88\x00\x00\x00\x01:\x00\x00\x00\x00\x00\x00\x01x\x00\x00\x00\x00\x00\x00\x01", receivers.Malformed, 4},
	} {
		var e *receivers.Error
		if err := new(Message).Decode([]byte(test.packet)); !errors.As(err, &e) || e.Reason != test.reason || e.Offset != test.offset {
			t.Errorf("%s: %+v, want %v at %d", test.name, err, test.reason, test.offset)
		}
	}
}

// example encodes m.
func example(t testing.TB, m Message) []byte {
	t.Helper()
	b, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEncodeErrors: what could not be read back is not written.
func TestEncodeErrors(t *testing.T) {
	name, long := []byte("x"), bytes.Repeat([]byte("x"), maxString+1)
	for i, m := range []Message{
		{Word: 51},
		{Word: 127},
		{Word: 137},
		{},
		{Word: WordMetadata},
		{Word: WordMetadata, Name: name, Slope: 6},
		{Word: WordMetadata, Name: name, Spoof: true},
		{Word: WordMetadata, Name: name, Spoof: true, Host: []byte("h")},
		{Word: WordRequest, Name: name, Spoof: true, Host: []byte("h:")},
		{Word: WordMetadata, Name: long},
		{Word: WordMetadata, Name: name, Name2: long},
		{Word: WordMetadata, Name: name, Extra: []Pair{{long, nil}}},
		{Word: WordString, Name: name, Text: long},
		{Word: WordUshort, Name: name, Number: rra.Uint(65536)},
		{Word: WordUshort, Name: name, Number: rra.Int(1)},
		{Word: WordShort, Name: name, Number: rra.Int(32768)},
		{Word: WordInt, Name: name, Number: rra.Int(math.MinInt32 - 1)},
		{Word: WordUint, Name: name, Number: rra.Uint(1 << 32)},
		{Word: WordFloat, Name: name, Number: rra.Uint(1)},
		{Word: WordDouble, Name: name},
		{Word: 1, Number: rra.Uint(65536)},
	} {
		before := []byte("before")
		if b, err := m.AppendBinary(before); err == nil || string(b) != "before" {
			t.Errorf("%d: %x, %v, want an error", i, b, err)
		}
	}
}

// TestParseValue: texts, as what kind of value they are.
func TestParseValue(t *testing.T) {
	const malformed = "malformed"
	for _, test := range []struct {
		text           string
		counter, gauge any // rra.Value, or a reason
	}{
		{"0", rra.Uint(0), rra.Float(0)},
		{"17", rra.Uint(17), rra.Float(17)},
		{"+17", rra.Uint(17), rra.Float(17)},
		{"-17", rra.Int(-17), rra.Float(-17)},
		{"-0", rra.Int(0), rra.Float(math.Copysign(0, -1))},
		{" \t\n\v\f\r42 \r\n", rra.Uint(42), rra.Float(42)},
		{"9007199254740993", rra.Uint(1<<53 + 1), rra.Float(1 << 53)},
		{"18446744073709551615", rra.Uint(math.MaxUint64), rra.Float(1 << 64)},
		{"18446744073709551616", "limit", rra.Float(1 << 64)},
		{"-9223372036854775808", rra.Int(math.MinInt64), rra.Float(-1 << 63)},
		{"-9223372036854775809", "limit", rra.Float(-1 << 63)},
		{"1.5", malformed, rra.Float(1.5)},
		{"1.", malformed, rra.Float(1)},
		{".5", malformed, rra.Float(.5)},
		{"1e3", malformed, rra.Float(1000)},
		{"1E+3", malformed, rra.Float(1000)},
		{"-1.5e-3", malformed, rra.Float(-1.5e-3)},
		{"0.1", malformed, rra.Float(0.1)},
		{"123456.789000", malformed, rra.Float(123456.789)},
		{"2.2250738585072011e-308", malformed, rra.Float(2.2250738585072011e-308)},
		{"1.00000000000000011102230246251565404236316680908203125", malformed, rra.Float(1)},
		{"1.00000000000000011102230246251565404236316680908203126", malformed, rra.Float(math.Nextafter(1, 2))},
		{"1e400", malformed, rra.Unknown},
		{"1e-400", malformed, rra.Float(0)},
		{"", malformed, malformed},
		{" ", malformed, malformed},
		{"+", malformed, malformed},
		{".", malformed, malformed},
		{"e5", malformed, malformed},
		{"1e", malformed, malformed},
		{"1e+", malformed, malformed},
		{"1.2.3", malformed, malformed},
		{"1 2", malformed, malformed},
		{"--1", malformed, malformed},
		{"0x10", malformed, malformed},
		{"0x1p4", malformed, malformed},
		{"1_000", malformed, malformed},
		{"nan", malformed, malformed},
		{"NaN", malformed, malformed},
		{"inf", malformed, malformed},
		{"-Infinity", malformed, malformed},
		{"12abc", malformed, malformed},
		{"1,5", malformed, malformed},
		{"1\x00", malformed, malformed},
	} {
		for _, k := range []rra.Kind{rra.Counter, rra.Derive, rra.Gauge, rra.DCounter, rra.DDerive, rra.Absolute} {
			want := test.gauge
			if k == rra.Counter || k == rra.Derive {
				want = test.counter
			}
			v, err := ParseValue(k, []byte(test.text))
			var got any = v
			if err != nil {
				got = receivers.ReasonOf(err).String()
			}
			if got != want {
				t.Errorf("%q for %v: %v, want %v", test.text, k, got, want)
			}
		}
	}
}

// TestConvert: numbers that were sent as such.
func TestConvert(t *testing.T) {
	for _, test := range []struct {
		number         rra.Value
		counter, gauge any
	}{
		{rra.Uint(math.MaxUint32), rra.Uint(math.MaxUint32), rra.Float(math.MaxUint32)},
		{rra.Int(-1), rra.Int(-1), rra.Float(-1)},
		{rra.Float(1.5), "state", rra.Float(1.5)},
		{rra.Float(2), "state", rra.Float(2)},
		{rra.Float(math.NaN()), "state", rra.Unknown},
		{rra.Float(math.Inf(-1)), "state", rra.Unknown},
	} {
		for k, want := range map[rra.Kind]any{rra.Counter: test.counter, rra.Derive: test.counter, rra.Gauge: test.gauge, rra.DDerive: test.gauge} {
			v, err := convert(k, test.number)
			var got any = v
			if err != nil {
				got = receivers.ReasonOf(err).String()
			}
			if got != want {
				t.Errorf("%v for %v: %v, want %v", test.number, k, got, want)
			}
		}
	}
}

// number returns a value of the manifest: whole numbers are texts there.
func number(t testing.TB, v any) rra.Value {
	t.Helper()
	switch v := v.(type) {
	case float64:
		return rra.Float(v)
	case string:
		if u, err := strconv.ParseUint(v, 10, 64); err == nil {
			return rra.Uint(u)
		}
		if i, err := strconv.ParseInt(v, 10, 64); err == nil {
			return rra.Int(i)
		}
	}
	t.Fatalf("value %v of the manifest", v)
	return rra.Unknown
}
