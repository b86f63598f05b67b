package remotewrite

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A TimeSeries is one series of a request, for those who send.
type TimeSeries struct {
	Labels  []Label // in order of their names, as Prometheus sends them
	Samples []Sample
	// Type is the type of the metric, with its number in both messages; Help and Unit may be empty.
	// Only AppendRequest2 writes these and Created, the time at which a counter began, in
	// milliseconds since 1970.
	Type       uint8
	Help, Unit string
	Created    int64
}

// A Label is a label of a TimeSeries.
type Label struct{ Name, Value string }

// A Sample is a sample of a TimeSeries. Time is in milliseconds since 1970.
type Sample struct {
	Value float64
	Time  int64
}

// A Metadata is the metadata of a family of metrics.
type Metadata struct {
	Family, Help, Unit string
	Type               uint8
}

// AppendRequest appends a message of version 1.0, not compressed.
func AppendRequest(dst []byte, series []TimeSeries, metadata []Metadata) []byte {
	var b, l []byte
	for i := range series {
		b = b[:0]
		for _, x := range series[i].Labels {
			l = appendText(appendText(l[:0], fieldName, x.Name), fieldText, x.Value)
			b = appendBytes(b, fieldLabels1, l)
		}
		dst = appendBytes(dst, fieldSeries1, appendSamples(b, series[i].Samples))
	}
	for _, m := range metadata {
		b = appendNumber(b[:0], fieldType, uint64(m.Type))
		b = appendText(b, fieldFamily, m.Family)
		b = appendText(appendText(b, fieldHelp, m.Help), fieldU, m.Unit)
		dst = appendBytes(dst, fieldMetadata1, b)
	}
	return dst
}

// AppendRequest2 appends a message of version 2.0, not compressed.
func AppendRequest2(dst []byte, series []TimeSeries) []byte {
	numbers := map[string]uint64{"": 0}
	symbols := []string{""}
	symbol := func(s string) uint64 {
		n, ok := numbers[s]
		if !ok {
			n = uint64(len(symbols))
			numbers[s] = n
			symbols = append(symbols, s)
		}
		return n
	}
	var all, b, refs []byte
	for i := range series {
		x := &series[i]
		refs = refs[:0]
		for _, l := range x.Labels {
			refs = protowire.AppendVarint(protowire.AppendVarint(refs, symbol(l.Name)), symbol(l.Value))
		}
		b = appendSamples(appendBytes(b[:0], fieldRefs, refs), x.Samples)
		m := appendNumber(nil, fieldType, uint64(x.Type))
		m = appendNumber(appendNumber(m, fieldHelpRef, symbol(x.Help)), fieldUnitRef, symbol(x.Unit))
		b = appendNumber(appendBytes(b, fieldMetadata2, m), fieldCreated, uint64(x.Created))
		all = appendBytes(all, fieldSeries2, b)
	}
	for _, s := range symbols {
		dst = appendBytes(dst, fieldSymbols, []byte(s))
	}
	return append(dst, all...)
}

func appendSamples(b []byte, samples []Sample) []byte {
	var m []byte
	for _, s := range samples {
		m = m[:0]
		if s.Value != 0 || math.Signbit(s.Value) {
			m = protowire.AppendTag(m, fieldValue, protowire.Fixed64Type)
			m = protowire.AppendFixed64(m, math.Float64bits(s.Value))
		}
		b = appendBytes(b, fieldSamples, appendNumber(m, fieldTime, uint64(s.Time)))
	}
	return b
}

func appendBytes(dst []byte, number protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), b)
}

func appendText(dst []byte, number protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), s)
}

func appendNumber(dst []byte, number protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), v)
}
