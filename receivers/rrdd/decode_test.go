package rrdd

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Decode decodes the content of one plugin's file.
func Decode(b []byte) (*File, error) {
	var r Reader
	if err := r.decode(bytes.NewReader(b), int64(len(b))); err != nil {
		return nil, err
	}
	return &File{r.version, r.timestamp, r.sources, slices.Clone(r.work.doc.values)}, nil
}

// v1 puts a header before a text.
func v1(text string) []byte {
	return fmt.Appendf(nil, "DATASOURCES\n%08x\n%x\n%s", len(text), md5.Sum([]byte(text)), text)
}

// v2 puts a header and values before a text.
func v2(timestamp uint64, values []uint64, text string) []byte {
	data := binary.BigEndian.AppendUint64(nil, timestamp)
	for _, v := range values {
		data = binary.BigEndian.AppendUint64(data, v)
	}
	b := binary.BigEndian.AppendUint32([]byte(magic), crc32.ChecksumIEEE(data))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(text)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(values)))
	b = binary.BigEndian.AppendUint32(append(b, data...), uint32(len(text)))
	return append(b, text...)
}

// fields is a file of version 1 with one data source of the given fields.
func fields(text string) []byte {
	return v1(`{"timestamp": 1, "datasources": {"a": {` + text + `}}}`)
}

var inf = math.Inf(1)

// TestFields: each field of a data source, in all the ways in which it may be written.
func TestFields(t *testing.T) {
	a := Source{Name: "a", Min: -inf, Max: inf}
	change := func(f func(*Source)) Source {
		s := a
		f(&s)
		return s
	}
	for _, test := range []struct {
		fields string
		want   Source
		value  rra.Value
	}{
		{`"value": "64.33"`, a, rra.Float(64.33)},
		{`"value": 64.33`, a, rra.Float(64.33)},
		{`"value": -0`, a, rra.Float(math.Copysign(0, -1))},
		{`"value": 1E-2`, a, rra.Float(0.01)},
		{`"value": "-Inf"`, a, rra.Float(-inf)},
		{`"value": "+infinity"`, a, rra.Float(inf)},
		{`"value": Infinity`, a, rra.Float(inf)},
		{`"value": -Infinity`, a, rra.Float(-inf)},
		{`"value": 1e999`, a, rra.Float(inf)},
		{`"value": "5."`, a, rra.Float(5)}, // OCaml's string_of_float
		{`"value": "1234", "value_type": "INT64"`, change(func(s *Source) { s.ValueType = Int64 }), rra.Int(1234)},
		{`"value_type": "int64", "value": -9223372036854775808`, change(func(s *Source) { s.ValueType = Int64 }), rra.Int(math.MinInt64)},
		{`"value": 9007199254740993, "value_type": "int64"`, change(func(s *Source) { s.ValueType = Int64 }), rra.Int(1<<53 + 1)},
		{`"value": 1, "type": "Gauge"`, change(func(s *Source) { s.Type = Gauge }), rra.Float(1)},
		{`"value": 1, "type": "absolute"`, a, rra.Float(1)},
		{`"value": 1, "type": "DERIVE"`, change(func(s *Source) { s.Type = Derive }), rra.Float(1)},
		{`"value": 1, "type": "rate"`, change(func(s *Source) { s.Type = Rate }), rra.Float(1)},
		{`"value": 1, "type": "Absolute_to_Rate"`, change(func(s *Source) { s.Type = AbsoluteToRate }), rra.Float(1)},
		{`"value": 1, "owner": "host"`, a, rra.Float(1)},
		{`"value": 1, "owner": "VM AbC"`, change(func(s *Source) { s.Owner, s.UUID = VM, "AbC" }), rra.Float(1)},
		{`"value": 1, "owner": "sr x"`, change(func(s *Source) { s.Owner, s.UUID = SR, "x" }), rra.Float(1)},
		{`"value": 1, "min": "0.00", "max": "1e6"`, change(func(s *Source) { s.Min, s.Max = 0, 1e6 }), rra.Float(1)},
		{`"value": 1, "min": -5, "max": "inf"`, change(func(s *Source) { s.Min = -5 }), rra.Float(1)},
		{`"value": 1, "min": NaN, "max": Infinity`, a, rra.Float(1)},
		{`"value": 1, "min": "-infinity", "max": "nan"`, a, rra.Float(1)},
		{`"value": 1, "min": "inf", "max": "-inf"`, a, rra.Float(1)},
		{`"value": 1, "min": 7, "max": 7`, a, rra.Float(1)}, // nothing could be stored
		{`"value": 1, "default": "TRUE"`, change(func(s *Source) { s.Default = true }), rra.Float(1)},
		{`"value": 1, "default": true`, change(func(s *Source) { s.Default = true }), rra.Float(1)},
		{`"value": 1, "default": "false"`, a, rra.Float(1)},
		{`"value": 1, "default": false`, a, rra.Float(1)},
		{`"value": 1, "transform": "Inverse"`, change(func(s *Source) { s.Transform = Inverse }), rra.Float(1)},
		{`"value": 1, "transform": "identity"`, a, rra.Float(1)},
		{`"value": 1, "units": "\u00b0C", "description": "\ud83d\ude00 \"\\\/\b\f\n\r\t é"`, change(func(s *Source) {
			s.Units, s.Description = "°C", "😀 \"\\/\b\f\n\r\t é"
		}), rra.Float(1)},
		{`"value": 1, "units": "\ud83dx\ude00"`, change(func(s *Source) { s.Units = "\uFFFDx\uFFFD" }), rra.Float(1)},
		{`"value": 1, "units": "\ud83d\u0041"`, change(func(s *Source) { s.Units = "\uFFFDA" }), rra.Float(1)},
		{"\"value\": 1, \"units\": \"\xff\"", change(func(s *Source) { s.Units = "\uFFFD" }), rra.Float(1)},
		{`"value": 1, "unknown": {"a": [1, {}, [], null], "value": 2}`, a, rra.Float(1)},
	} {
		f, err := Decode(fields(test.fields))
		if err != nil {
			t.Errorf("%s: %v", test.fields, err)
			continue
		}
		if diff := cmp.Diff([]Source{test.want}, f.Sources); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.fields, diff)
		}
		if diff := cmp.Diff([]rra.Value{test.value}, f.Values); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.fields, diff)
		}
	}
	for _, text := range []string{`"nan"`, `NaN`, `"-NaN"`} {
		if f, err := Decode(fields(`"value": ` + text)); err != nil || bits(f.Values[0]) != "NaN" {
			t.Errorf("%s: %v, %v", text, f, err)
		}
	}
}

// TestMalformed: what is wrong, and where.
func TestMalformed(t *testing.T) {
	nested := func(n int) string {
		return `{"timestamp": 1, "datasources": {}, "x": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	if _, err := Decode(v1(nested(31))); err != nil {
		t.Errorf("32 deep: %v", err)
	}
	many := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"timestamp": 1, "datasources": {`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%d":{"value":1}`, i)
		}
		b.WriteString("}}")
		return b.String()
	}
	if f, err := Decode(v1(many(MaxSources))); err != nil || len(f.Sources) != MaxSources {
		t.Errorf("%d data sources: %v", MaxSources, err)
	}
	const bad = receivers.Malformed
	for _, test := range []struct {
		text   string
		reason receivers.Reason
		offset int // in the text
	}{
		{``, bad, 0},
		{`[]`, bad, 0},
		{`{`, bad, 1},
		{`{}`, bad, 0},
		{`{"datasources": {}}`, bad, 0},
		{`{"timestamp": 1}`, bad, 0},
		{`{"timestamp": "1", "datasources": {}}`, bad, 14},
		{`{"timestamp": 01, "datasources": {}}`, bad, 15},
		{`{"timestamp": 1., "datasources": {}}`, bad, 16},
		{`{"timestamp": 1e, "datasources": {}}`, bad, 16},
		{`{"timestamp": -, "datasources": {}}`, bad, 15},
		{`{"timestamp": +1, "datasources": {}}`, bad, 14},
		{`{"timestamp": nan, "datasources": {}}`, bad, 14},
		{`{"timestamp": 1, "datasources": []}`, bad, 32},
		{`{"timestamp": 1, "datasources": {}} x`, bad, 36},
		{"{\"timestamp\": 1, \"datasources\": {}}\x00", bad, 35},
		{`{"timestamp": 1, "datasources": {},}`, bad, 35},
		{`{"timestamp": 1, "datasources": {} "x": 1}`, bad, 35},
		{`{"timestamp": 1, "datasources": {}, x: 1}`, bad, 36},
		{`{"timestamp": 1, "datasources": {}, "x" 1}`, bad, 40},
		{`{"timestamp": 1, "datasources": {}, "x": [1,]}`, bad, 44},
		{`{"timestamp": 1, "datasources": {}, "x": [1}`, bad, 43},
		{`{"timestamp": 1, "datasources": {}, "x": tru}`, bad, 41},
		{`{"timestamp": 1, "datasources": {}, "x": "`, bad, 42},
		{`{"timestamp": 1, "datasources": {}, "x": "\`, bad, 43},
		{`{"timestamp": 1, "datasources": {}, "x": "\q"}`, bad, 43},
		{`{"timestamp": 1, "datasources": {}, "x": "\u12g4"}`, bad, 44},
		{`{"timestamp": 1, "datasources": {}, "x": "\ud800\u12"}`, bad, 50},
		{"{\"timestamp\": 1, \"datasources\": {}, \"x\": \"\n\"}", bad, 42},
		{"{\"timestamp\": 1, \"datasources\": {}, \"x\": \"\\\"\t\"}", bad, 44},
		{`{"timestamp": 1, "timestamp": 1, "datasources": {}}`, bad, 17},
		{`{"timestamp": 1, "datasources": {}, "data_sources": {}}`, bad, 36},
		{nested(32), bad, 72},
		{nested(100_000), bad, 72},
		{many(MaxSources + 1), receivers.Limit, len(many(MaxSources)) - 1},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1}, "a": {"value": 2}}}`, bad, 52},
		{`{"timestamp": 1, "datasources": {"b": {"value": 1}, "a": {"value": 2}, "\u0062": {"value": 2}}}`, bad, 71},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "value": 1}}}`, bad, 51},
		{`{"timestamp": 1, "datasources": {"a": 1}}`, bad, 38},
		{`{"timestamp": 1, "datasources": {"a": {}}}`, bad, 33},
		{`{"timestamp": 1, "datasources": {"a": {"value": null}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": true}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": ""}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "x"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "1 "}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "0x1p3"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "1_0"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "."}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "--1"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "1.5", "value_type": "int64"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1.0, "value_type": "int64"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": "nan", "value_type": "int64"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": 9223372036854775808, "value_type": "int64"}}}`, bad, 48},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "value_type": "uint64"}}}`, bad, 65},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "type": "counter"}}}`, bad, 59},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "type": true}}}`, bad, 59},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "owner": "guest x"}}}`, bad, 60},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "owner": "host x"}}}`, bad, 60},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "owner": "vm"}}}`, bad, 60},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "owner": "vm "}}}`, bad, 60},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "owner": "vm a b"}}}`, bad, 60},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "owner": ""}}}`, bad, 60},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "min": "low"}}}`, bad, 58},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "max": {}}}}`, bad, 58},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "default": "yes"}}}`, bad, 62},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "default": 1}}}`, bad, 62},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "transform": "log"}}}`, bad, 64},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "units": 5}}}`, bad, 60},
		{`{"timestamp": 1, "datasources": {"a": {"value": 1, "description": null}}}`, bad, 66},
	} {
		_, err := Decode(v1(test.text))
		check(t, fmt.Sprintf("%.100q", test.text), err, test.reason, v1Text+test.offset)
	}
}

func check(t *testing.T, what string, err error, reason receivers.Reason, offset int) {
	t.Helper()
	var e *receivers.Error
	if !errors.As(err, &e) || e.Reason != reason || e.Offset != offset {
		t.Errorf("%s: %+v, want %v at %d", what, err, reason, offset)
	}
}

// TestHeaders: what is wrong with headers, and where.
func TestHeaders(t *testing.T) {
	const text = `{"datasources": {"a": {"value_type": "float"}}}`
	good := v2(math.Float64bits(1.7e9), []uint64{1}, text)
	change := func(at int, b ...byte) []byte {
		return append(append(append([]byte(nil), good[:at]...), b...), good[at+len(b):]...)
	}
	old := v1(`{"timestamp": 1, "datasources": {}}`)
	large := append(v1(""), make([]byte, 2*MaxFile)...)
	copy(large[v1Length:], "00200000")
	many := append([]byte(magic), make([]byte, MaxFile)...)
	binary.BigEndian.PutUint32(many[v2Count:], MaxSources+1)
	for _, test := range []struct {
		name   string
		b      []byte
		reason receivers.Reason
		offset int
	}{
		{"nothing", nil, receivers.Truncated, 0},
		{"some of the magic", good[:5], receivers.Truncated, 5},
		{"magic alone", good[:11], receivers.Truncated, 11},
		{"some of the header", good[:30], receivers.Truncated, 30},
		{"no values", good[:31], receivers.Truncated, 31},
		{"no length", good[:42], receivers.Truncated, 42},
		{"no metadata", good[:43], receivers.Truncated, 43},
		{"one byte too few", good[:len(good)-1], receivers.Truncated, len(good) - 1},
		{"another magic", change(0, 'd'), receivers.Malformed, 0},
		{"a wrong beginning", []byte("DATAX"), receivers.Malformed, 0},
		{"data sum", change(11, 1, 2, 3, 4), receivers.Checksum, v2DataSum},
		{"time", change(23, 1), receivers.Checksum, v2DataSum},
		{"value", change(38, 2), receivers.Checksum, v2DataSum},
		{"metadata sum", change(15, 1, 2, 3, 4), receivers.Checksum, v2MetaSum},
		{"metadata", change(45, 'x'), receivers.Checksum, v2MetaSum},
		{"a count beyond its end", change(19, 0xff, 0xff, 0xff, 0xff), receivers.Truncated, len(good)},
		{"a length beyond its end", change(39, 0xff, 0xff, 0xff, 0xff), receivers.Truncated, len(good)},
		{"too many data sources", many, receivers.Limit, v2Count},
		{"more values than names", v2(0, []uint64{1, 2}, text), receivers.Malformed, v2Count},
		{"fewer values than names", v2(0, nil, text), receivers.Malformed, v2Count},
		{"no value type", v2(0, []uint64{1}, `{"datasources": {"a": {"type": "gauge"}}}`), receivers.Malformed, 43 + 17},
		{"no object", v2(0, []uint64{1}, `7`), receivers.Malformed, 43},
		{"nothing but zero bytes", v2(0, []uint64{1}, "\x00\x00"), receivers.Malformed, 43},
		{"version 1, some of the header", old[:40], receivers.Truncated, 40},
		{"version 1, too short", old[:60], receivers.Truncated, 60},
		{"version 1, MD5", append(append([]byte(nil), old[:25]...), old[26:]...), receivers.Malformed, v1Sum},
		{"version 1, another MD5", append(append(append([]byte(nil), old[:52]...), old[52]^1), old[53:]...), receivers.Checksum, v1Sum},
		{"version 1, too long", large, receivers.Limit, 0},
		{"version 1, no length", append([]byte("DATASOURCES\n000x0023"), old[20:]...), receivers.Truncated, len(old)}, // so it is of version 2
	} {
		_, err := Decode(test.b)
		check(t, test.name, err, test.reason, test.offset)
	}
}

// TestSpellings: what is not as the page says, and is taken.
func TestSpellings(t *testing.T) {
	const text = `{"data_sources": {"a": {"value_type": "float", "value": {"what": "ever"}, "type": "gauge"}}}`
	good := v2(math.Float64bits(1.7e9), []uint64{math.Float64bits(2)}, text)
	for name, b := range map[string][]byte{
		"data_sources": good,
		"old magic":    append([]byte(magicOld), good[11:]...),
		"zero bytes":   v2(math.Float64bits(1.7e9), []uint64{math.Float64bits(2)}, text+"\x00\x00"),
		"blanks":       v2(math.Float64bits(1.7e9), []uint64{math.Float64bits(2)}, " \t\r\n"+text+"\n"),
		"an end":       append(append([]byte(nil), good...), "anything"...),
		"v1":           v1(`{"data_sources": {"a": {"type": "gauge", "value": 2}}, "timestamp": 17e8, "more": [true, false, null]}`),
		"v1 in capitals": []byte(strings.ToUpper(string(v1(`{"datasources": {"a": {"type": "gauge", "value": 2}}, "timestamp": 17e8}`)[:54])) +
			`{"datasources": {"a": {"type": "gauge", "value": 2}}, "timestamp": 17e8}` + "\n\x00\x00"),
	} {
		f, err := Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := &File{f.Version, 1.7e9, []Source{{Name: "a", Type: Gauge, Min: -inf, Max: inf}}, []rra.Value{rra.Float(2)}}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTimes: a timestamp of version 2 is a double, or else an integer.
func TestTimes(t *testing.T) {
	for _, test := range []struct {
		bits uint64
		want float64
	}{
		{math.Float64bits(1700000000.25), 1700000000.25},
		{math.Float64bits(-1.5), -1.5},
		{math.Float64bits(1e-3), 1e-3},
		{math.Float64bits(1e18), 1e18},
		{1700000000, 1700000000},
		{0, 0},
		{math.MaxUint64, -1},
	} {
		f, err := Decode(v2(test.bits, nil, `{"datasources": {}}`))
		if err != nil || f.Timestamp != test.want {
			t.Errorf("%016x: %v, %v, want %v", test.bits, f, err, test.want)
		}
	}
}

// TestAmbiguousHeader: a file of version 2 whose first sum begins with a line feed is not of
// version 1.
func TestAmbiguousHeader(t *testing.T) {
	var f *File
	var b []byte
	for n := 0; b == nil || b[11] != '\n'; n++ {
		f = gauge(2, n)
		b = encode(t, f)
	}
	r := new(Reader)
	for i := range 2 {
		c := open(b)
		updated, err := r.Read(c, int64(len(b)))
		if err != nil || updated != (i == 0) || r.version != 2 {
			t.Errorf("reading %d: %t, %v, version %d", i, updated, err, r.version)
		}
		if i == 1 && c.bytes > 15 {
			t.Errorf("no update was told from %d bytes", c.bytes)
		}
	}
	if r.Timestamp() != f.Timestamp {
		t.Errorf("time %v, want %v", r.Timestamp(), f.Timestamp)
	}
}
