package remotewrite

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/protobuf"
)

// decode2 reads a request of version 2.0, the message io.prometheus.write.v2.Request. Its series
// refer to symbols, which may stand behind them. A series whose references are wrong is marked; the
// others are read.
func (w *work) decode2() (err error) {
	r := protobuf.Reader{B: w.body}
	for r.Next() {
		if r.Number == fieldSymbols {
			n := len(r.Bytes("a symbol"))
			w.symbols, err = room(w, w.symbols, maxSymbols, "symbols")
			if r.Fail(err); r.Err() == nil {
				w.symbols = append(w.symbols, span{uint32(r.At - n), uint32(r.At)})
			}
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	for r = (protobuf.Reader{B: w.body}); r.Next(); {
		if r.Number == fieldSeries2 {
			r.Fail(w.series2(r.Message("a series")))
		}
	}
	return r.Err()
}

func (w *work) series2(r protobuf.Reader) error {
	s, l := wireSeries{from: uint32(len(w.samples))}, labels2{from: len(w.keys)}
	for r.Next() {
		switch {
		case r.Number == fieldRefs:
			l.add(w, &s, &r)
		case r.Number == fieldSamples:
			r.Fail(w.sample(&r))
		case r.Number == fieldNative2:
			r.Bytes("a histogram")
			s.native++
		case r.Number == fieldExemplars2:
			r.Bytes("an exemplar")
			s.exemplars++
		case r.Number == fieldMetadata2:
			r.Fail(s.metadata2(r.Message("metadata")))
		case r.Is(fieldCreated, protowire.VarintType): // not in all versions of 2.0
			s.created = int64(r.Uint("the time of creation"))
		}
	}
	if l.odd && s.fault == "" {
		s.fault = "a label has a name and no value"
	}
	if w.spelled += l.size; w.spelled > maxSpelled {
		r.Fail(&receivers.Error{Reason: receivers.Limit, What: fmt.Sprintf("the labels of the request take more than %d bytes", maxSpelled)})
	}
	s.labels = w.keys[l.from:len(w.keys):len(w.keys)]
	r.Fail(w.addSeries(s))
	return r.Err()
}

// A labels2 is the references to the labels of a series of 2.0 as they are read.
type labels2 struct {
	labels int
	size   int // of the labels, written out
	name   uint32
	odd    bool // a name has been read and its value has not
	from   int  // where the references begin in work.keys
}

// add reads a field with one reference or many. What lies behind a fault is read and not kept.
func (l *labels2) add(w *work, s *wireSeries, r *protobuf.Reader) {
	var m protobuf.Reader
	if r.Kind == protowire.BytesType {
		m = r.Message("references")
	} else {
		start := r.At
		r.Uint("a reference")
		m = protobuf.Reader{B: r.B[start:r.At]}
	}
	keep := 0 // bytes of pairs, and of the name of a pair that goes on
	for m.At < len(m.B) && m.Err() == nil {
		v := uint32(m.Varint("a reference"))
		if l.odd && s.fault == "" {
			s.fault = l.pair(w, l.name, v)
		}
		if l.name, l.odd = v, !l.odd; s.fault == "" {
			keep = m.At
		}
	}
	r.Fail(m.Err())
	r.Fail(w.keep(m.B[:keep]))
}

// pair counts a label, and returns what is wrong with it or with the series that has it.
func (l *labels2) pair(w *work, name, value uint32) (fault string) {
	if uint64(max(name, value)) >= uint64(len(w.symbols)) {
		return "a label refers to a symbol that is not there"
	}
	label := protowire.SizeTag(fieldName) + protowire.SizeBytes(w.symbols[name].length()) + protowire.SizeTag(fieldText) + protowire.SizeBytes(w.symbols[value].length())
	label = protowire.SizeTag(fieldLabels1) + protowire.SizeBytes(label)
	if l.labels++; l.labels > maxLabels {
		return tooMany
	}
	if l.size+label > maxKey {
		return tooLong
	}
	l.size += label
	return ""
}

func (s span) length() int { return int(s.to - s.from) }

// key returns the labels of a series as 1.0 writes them. It is valid until the next call.
func (w *work) key(s *wireSeries) []byte {
	if w.version == 2 {
		return w.spell(s.labels)
	}
	return s.labels
}

// spell writes the labels out to which references refer that were read before, as 1.0 writes them.
func (w *work) spell(refs []byte) []byte {
	key, r := w.spelling[:0], protobuf.Reader{B: refs}
	for size := 0; r.At < len(r.B); {
		n, v := w.symbol(uint32(r.Varint(""))), w.symbol(uint32(r.Varint("")))
		if size += len(n) + len(v); r.Err() != nil || size > maxKey {
			break // labels of a fault
		}
		key = protowire.AppendVarint(append(key, fieldLabels1<<3|2), uint64(2+protowire.SizeBytes(len(n))+protowire.SizeBytes(len(v))))
		key = protowire.AppendBytes(append(key, fieldName<<3|2), n)
		key = protowire.AppendBytes(append(key, fieldText<<3|2), v)
	}
	w.spelling = key
	return key
}

func (s *wireSeries) metadata2(r protobuf.Reader) error {
	for r.Next() {
		switch r.Number {
		case fieldType:
			s.kind = kindOf(r.Uint("the type of metadata"))
		case fieldHelpRef:
			s.help = uint32(r.Uint("the help of metadata"))
		case fieldUnitRef:
			s.unit = uint32(r.Uint("the unit of metadata"))
		}
	}
	return r.Err()
}

// symbol returns a symbol that metadata refers to; nil: it is not there.
func (w *work) symbol(i uint32) []byte {
	if uint64(i) >= uint64(len(w.symbols)) {
		return nil
	}
	return w.body[w.symbols[i].from:w.symbols[i].to]
}
