package remotewrite

import (
	"google.golang.org/protobuf/encoding/protowire"
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
					w.symbols = append(w.symbols, b)
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
	key := len(w.keys)
	var name uint32
	odd := false // a name has been read and its value has not
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
			var m reader
			m, err = r.packed(f)
			for err == nil && m.at < len(m.b) {
				var v uint64
				v, err = m.varint("a reference")
				if odd && err == nil {
					w.pair(&s, name, uint32(v))
				}
				name, odd = uint32(v), !odd
			}
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
	if odd && s.fault == "" {
		s.fault = "a label has a name and no value"
	}
	s.key = w.keys[key:len(w.keys):len(w.keys)]
	s.to = uint32(len(w.samples))
	w.series = append(w.series, s)
	return nil
}

// packed reads a field with one reference or many.
func (r *reader) packed(f field) (reader, error) {
	if f.kind == protowire.BytesType {
		return r.message(f, "references")
	}
	start := r.at
	_, err := r.number(f, "a reference")
	return reader{b: r.b[start:r.at], off: r.off + start}, err
}

// pair appends a label to the key of s, in the form of 1.0.
func (w *work) pair(s *wireSeries, name, value uint32) {
	if uint64(max(name, value)) >= uint64(len(w.symbols)) {
		s.fault = "a label refers to a symbol that is not there"
		return
	}
	n, v := w.symbols[name], w.symbols[value]
	size := 2 + protowire.SizeBytes(len(n)) + protowire.SizeBytes(len(v))
	w.keys = protowire.AppendVarint(append(w.keys, fieldLabels1<<3|2), uint64(size))
	w.keys = protowire.AppendBytes(append(w.keys, fieldName<<3|2), n)
	w.keys = protowire.AppendBytes(append(w.keys, fieldText<<3|2), v)
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
	return w.symbols[i]
}
