package remotewrite

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/rondo-db/rondo/receivers"
)

// seeds are messages that a fuzz test begins with.
func seeds() (one, two []byte) {
	series := []TimeSeries{
		{
			Labels:  []Label{{"__name__", "up"}, {"job", "a"}},
			Samples: []Sample{{1.5, 1700000000000}, {0, 1}, {math.NaN(), -1}}, Type: 1, Help: "help", Unit: "s", Created: 1699999999000,
		},
		{Labels: []Label{{"__name__", "x"}, {"empty", ""}}},
	}
	return AppendRequest(nil, series, []Metadata{{"up", "help", "s", 2}}), AppendRequest2(nil, series)
}

// strict reports whether a message was refused by a rule of protobuf that the generated decoder
// does not keep: it lets the group of one field end with another field's, numbers have 70 bits, and
// references go on behind their field.
func strict(err error) bool {
	return strings.Contains(err.Error(), "a reference is cut off") || strings.Contains(err.Error(), "an unknown field") || strings.Contains(err.Error(), "no number of 64 bits") || strings.Contains(err.Error(), "no valid tag")
}

// FuzzDecode1 compares the decoder with the one that Prometheus generates.
func FuzzDecode1(f *testing.F) {
	one, two := seeds()
	f.Add(one)
	f.Add(two)
	f.Add([]byte("\x0a\x08\x12\x04\x10\x01\x10\x02\x0a\x00"))         // a label behind samples
	f.Add([]byte("\x0a\x0a\x0a\x02\x0a\x00\x12\x00\x0a\x02\x12\x00")) // labels that are apart
	f.Add([]byte("\x0a\x06\x0a\x02\x0a\x00\x0a\x09"))                 // a label that is cut off
	f.Add([]byte("\x0a\x05\x0a\x82\x00\x0a\x00"))                     // a length of two bytes
	long := strings.Repeat("v", 200)
	for _, labels := range [][]Label{{{"a", "b"}, {"c", long}, {"d", "e"}}, {{"c", long}, {"d", "e"}}, {{"a", "b"}, {"c", long}}} {
		f.Add(AppendRequest(nil, []TimeSeries{{Labels: labels, Samples: []Sample{{1, 2000}}}}, nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w := work{body: b}
		w.reset()
		err := w.decode(1)
		for _, s := range w.series {
			if err == nil {
				_, err = w.parse(s.labels)
			}
		}
		var want prompb.WriteRequest
		if wantErr := want.Unmarshal(b); wantErr != nil {
			return // the generated decoder also reads histograms and exemplars, which stay unread here
		}
		if err != nil {
			if strict(err) {
				return
			}
			if receivers.ReasonOf(err) == receivers.Failed {
				t.Fatalf("an error without a reason: %v", err)
			}
			t.Fatalf("%v; Prometheus reads it", err)
		}
		if len(w.series) != len(want.Timeseries) || len(w.metadata) != len(want.Metadata) {
			t.Fatalf("%d series and %d metadata, want %d and %d", len(w.series), len(w.metadata), len(want.Timeseries), len(want.Metadata))
		}
		for i, s := range want.Timeseries {
			got := w.series[i]
			if got.fault != "" {
				continue
			}
			labels, _ := w.parse(w.key(&got))
			if len(labels) != len(s.Labels) || int(got.to-got.from) != len(s.Samples) || int(got.native) != len(s.Histograms) || int(got.exemplars) != len(s.Exemplars) {
				t.Fatalf("series %d is %+v, want %v", i, got, s)
			}
			for j, l := range s.Labels {
				if string(labels[j].name) != l.Name || string(labels[j].value) != l.Value {
					t.Fatalf("label %q=%q, want %v", labels[j].name, labels[j].value, l)
				}
			}
			for j, x := range s.Samples {
				y := w.samples[int(got.from)+j]
				if y.ms != x.Timestamp || y.bits != math.Float64bits(x.Value) {
					t.Fatalf("sample %+v, want %v", y, x)
				}
			}
		}
		for i, m := range want.Metadata {
			got := w.metadata[i]
			if string(got.family) != m.MetricFamilyName || string(got.help) != m.Help || string(got.unit) != m.Unit {
				t.Fatalf("metadata %+v, want %v", got, m)
			}
		}
	})
}

// FuzzDecode2 does the same with messages of 2.0.
func FuzzDecode2(f *testing.F) {
	one, two := seeds()
	f.Add(two)
	f.Add(one)
	f.Fuzz(func(t *testing.T, b []byte) {
		w := work{body: b}
		w.reset()
		err := w.decode(2)
		var want writev2.Request
		if wantErr := want.Unmarshal(b); wantErr != nil {
			return
		}
		if err != nil {
			if strict(err) {
				return
			}
			t.Fatalf("%v; Prometheus reads it", err)
		}
		if len(w.series) != len(want.Timeseries) {
			t.Fatalf("%d series, want %d", len(w.series), len(want.Timeseries))
		}
		for i, s := range want.Timeseries {
			got := w.series[i]
			if int(got.to-got.from) != len(s.Samples) || int(got.native) != len(s.Histograms) || int(got.exemplars) != len(s.Exemplars) {
				t.Fatalf("series %d is %+v, want %v", i, got, s)
			}
			for j, x := range s.Samples {
				if y := w.samples[int(got.from)+j]; y.ms != x.Timestamp || y.bits != math.Float64bits(x.Value) || y.start != x.StartTimestamp {
					t.Fatalf("sample %+v, want %v", y, x)
				}
			}
			if got.help != s.Metadata.HelpRef || got.unit != s.Metadata.UnitRef {
				t.Fatalf("metadata %+v, want %v", got, s.Metadata)
			}
			if got.fault != "" {
				continue
			}
			labels, err := w.parse(w.key(&got))
			if err != nil || len(labels)*2 != len(s.LabelsRefs) {
				t.Fatalf("%d labels, want %d references: %v", len(labels), len(s.LabelsRefs), err)
			}
			for j, l := range labels {
				if n, v := want.Symbols[s.LabelsRefs[2*j]], want.Symbols[s.LabelsRefs[2*j+1]]; string(l.name) != n || string(l.value) != v {
					t.Fatalf("label %q=%q, want %q=%q", l.name, l.value, n, v)
				}
			}
		}
	})
}

// TestDecodeAgain: a request is decoded without allocating, once one as large was.
func TestDecodeAgain(t *testing.T) {
	one, two := seeds()
	w := new(work)
	for version, body := range map[int][]byte{1: one, 2: two} {
		again := func() {
			w.reset()
			w.body = body
			if err := w.decode(version); err != nil {
				t.Fatal(err)
			}
		}
		again()
		if n := testing.AllocsPerRun(10, again); n != 0 {
			t.Errorf("version %d: %v allocations", version, n)
		}
	}
}

// TestCut: a message that is cut off anywhere is refused, or is a shorter message.
func TestCut(t *testing.T) {
	one, two := seeds()
	for version, body := range map[int][]byte{1: one, 2: two} {
		refused := 0
		for n := range body {
			w := &work{body: bytes.Clone(body[:n])}
			w.reset()
			if err := w.decode(version); err != nil {
				refused++
			}
		}
		if refused < len(body)/2 {
			t.Errorf("version %d: %d of %d beginnings are refused", version, refused, len(body))
		}
	}
}

// TestTable: the longest keys are distinguished too, and all keys are forgotten when there are too
// many.
func TestTable(t *testing.T) {
	table := newTable(1000)
	key := func(i int) []byte {
		b := []byte{byte(i), byte(i >> 8), 'x'}
		if i%100 == 0 {
			b = append(b, make([]byte, maxKey-len(b))...)
		}
		return b
	}
	for i := range 1000 {
		table.add(key(i), table.append(series{}))
	}
	for i := range 1000 {
		if n := table.look(key(i)); n != uint32(i) {
			t.Fatalf("key %d is series %d", i, n)
		}
	}
	if !table.keys.Full() {
		t.Error("it is not full")
	}
	table.forget()
	if table.keys.Len() != 0 || table.look(key(1)) != none {
		t.Error("it has forgotten nothing")
	}
}
