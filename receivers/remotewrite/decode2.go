package remotewrite

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers"
)

// decode2 reads a request of version 2.0, the message io.prometheus.write.v2.Request. Its series
// refer to symbols, which may stand behind them. A series whose references are wrong is marked; the
// others are read.
func (w *work) decode2() error {
	for _, series := range [2]bool{false, true} {
		r := reader{b: w.body}
		for {
			f, ok, err := r.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			switch {
			case f.number == fieldSymbols && !series:
				var b []byte
				if b, err = r.bytes(f, "a symbol"); err == nil {
					w.symbols, err = room(w, w.symbols, maxSymbols, "symbols")
				}
				if err == nil {
					w.symbols = append(w.symbols, span{uint32(r.at - len(b)), uint32(r.at)})
				}
			case f.number == fieldSeries2 && series:
				var m reader
				if m, err = r.message(f, "a series"); err == nil {
					err = w.series2(m)
				}
			default:
				err = r.skip(f)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) series2(r reader) error {
	s := wireSeries{from: uint32(len(w.samples))}
	var l labels2
	for {
		f, ok, err := r.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch {
		case f.number == fieldRefs:
			err = l.add(w, &s, &r, f)
		case f.number == fieldSamples:
			err = w.sample(&r, f)
		case f.number == fieldNative2:
			_, err = r.bytes(f, "a histogram")
			s.native++
		case f.number == fieldExemplars2:
			_, err = r.bytes(f, "an exemplar")
			s.exemplars++
		case f.number == fieldMetadata2:
			var m reader
			if m, err = r.message(f, "metadata"); err == nil {
				err = s.metadata2(m)
			}
		case f.number == fieldCreated && f.kind == protowire.VarintType: // not in all versions of 2.0
			var v uint64
			v, err = r.number(f, "the time of creation")
			s.created = int64(v)
		default:
			err = r.skip(f)
		}
		if err != nil {
			return err
		}
	}
	if l.odd && s.fault == "" {
		s.fault = "a label has a name and no value"
	}
	if w.spelled += l.size; w.spelled > maxSpelled {
		return &receivers.Error{Reason: receivers.Limit, What: fmt.Sprintf("the labels of the request take more than %d bytes", maxSpelled)}
	}
	return w.addSeries(s)
}

// A labels2 is the references to the labels of a series of 2.0 as they are read. They mostly stand
// in one field, and are taken as they are. Otherwise they are copied.
type labels2 struct {
	labels int
	size   int // of the labels, written out
	name   uint32
	odd    bool // a name has been read and its value has not
	apart  bool
	copied int // where the copy begins in work.keys
}

// add reads a field of references. What lies behind a fault is read and not kept.
func (l *labels2) add(w *work, s *wireSeries, r *reader, f field) error {
	m, err := r.packed(f)
	if err != nil {
		return err
	}
	keep := 0 // bytes of pairs, and of the name of a pair that goes on
	for m.at < len(m.b) {
		v, err := m.varint("a reference")
		if err != nil {
			return err
		}
		if l.odd && s.fault == "" {
			s.fault = l.pair(w, l.name, uint32(v))
		}
		if l.name, l.odd = uint32(v), !l.odd; s.fault == "" {
			keep = m.at
		}
	}
	switch {
	case keep == 0:
		return nil
	case s.labels == nil && !l.apart:
		s.labels = m.b[:keep:keep]
		return nil
	case !l.apart:
		if err := w.chargeKeys(); err != nil {
			return err
		}
		l.apart, l.copied = true, len(w.keys)
		w.keys = append(w.keys, s.labels...)
	}
	w.keys = append(w.keys, m.b[:keep]...)
	s.labels = w.keys[l.copied:len(w.keys):len(w.keys)]
	return nil
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

// packed reads a field with one reference or many.
func (r *reader) packed(f field) (reader, error) {
	if f.kind == protowire.BytesType {
		return r.message(f, "references")
	}
	start := r.at
	_, err := r.number(f, "a reference")
	return reader{b: r.b[start:r.at], off: r.off + start}, err
}

// key returns the labels of a series as 1.0 writes them. It is valid until the next call.
func (w *work) key(s *wireSeries) []byte {
	if w.version == 2 {
		return w.spell(s.labels)
	}
	return s.labels
}

// spell writes the labels out to which references refer that were read before, as 1.0 writes them.
func (w *work) spell(refs []byte) []byte {
	key, r := w.spelling[:0], reader{b: refs}
	for size := 0; r.at < len(r.b); {
		i, err := r.varint("")
		j, err2 := r.varint("")
		n, v := w.symbol(uint32(i)), w.symbol(uint32(j))
		if size += len(n) + len(v); err != nil || err2 != nil || size > maxKey {
			break // labels of a fault
		}
		key = protowire.AppendVarint(append(key, fieldLabels1<<3|2), uint64(2+protowire.SizeBytes(len(n))+protowire.SizeBytes(len(v))))
		key = protowire.AppendBytes(append(key, fieldName<<3|2), n)
		key = protowire.AppendBytes(append(key, fieldText<<3|2), v)
	}
	w.spelling = key
	return key
}

func (s *wireSeries) metadata2(r reader) error {
	for {
		f, ok, err := r.next()
		if !ok {
			return err
		}
		var v uint64
		switch f.number {
		case fieldType:
			v, err = r.number(f, "the type of metadata")
			s.kind = kind(min(v, uint64(kinds)))
		case fieldHelpRef:
			v, err = r.number(f, "the help of metadata")
			s.help = uint32(v)
		case fieldUnitRef:
			v, err = r.number(f, "the unit of metadata")
			s.unit = uint32(v)
		default:
			err = r.skip(f)
		}
		if err != nil {
			return err
		}
	}
}

// symbol returns a symbol that metadata refers to; nil: it is not there.
func (w *work) symbol(i uint32) []byte {
	if uint64(i) >= uint64(len(w.symbols)) {
		return nil
	}
	return w.body[w.symbols[i].from:w.symbols[i].to]
}
