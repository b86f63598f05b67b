package remotewrite

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// decode1 reads a request of version 1.0, the message prometheus.WriteRequest.
func (w *work) decode1() error {
	r := reader{b: w.body}
	for {
		f, ok, err := r.next()
		if !ok {
			return err
		}
		switch f.number {
		case fieldSeries1:
			var m reader
			if m, err = r.message(f, "a series"); err == nil {
				err = w.series1(m)
			}
		case fieldMetadata1:
			var m reader
			if m, err = r.message(f, "metadata"); err == nil {
				err = w.metadata1(m)
			}
		default:
			err = r.skip(f)
		}
		if err != nil {
			return err
		}
	}
}

// series1 reads one series.
func (w *work) series1(r reader) error {
	s := wireSeries{from: uint32(len(w.samples))}
	l := labels1{labels: r.labels()}
	l.end = r.at
	for {
		start := r.at
		f, ok, err := r.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch f.number {
		case fieldLabels1:
			if _, err = r.bytes(f, "a label"); err == nil && s.fault == "" {
				s.fault, err = l.add(w, &r, start)
			}
		case fieldSamples:
			err = w.sample(&r, f)
		case fieldExemplars1:
			_, err = r.bytes(f, "an exemplar")
			s.exemplars++
		case fieldNative1:
			_, err = r.bytes(f, "a histogram")
			s.native++
		default:
			err = r.skip(f)
		}
		if err != nil {
			return err
		}
	}
	if s.labels = r.b[l.first:l.end:l.end]; l.apart {
		s.labels = w.keys[l.copied:len(w.keys):len(w.keys)]
	}
	return w.addSeries(s)
}

// A labels1 is the labels of a series of 1.0 as they are read. They mostly stand one behind the
// other, and are taken as they are. Otherwise they are copied.
type labels1 struct {
	labels     int
	first, end int // where they stand in the series
	apart      bool
	copied     int // where the copy begins in work.keys
}

// add adds the label that stands between start and the place that r has come to. It returns what is
// wrong with the series if that is too much.
func (l *labels1) add(w *work, r *reader, start int) (fault string, err error) {
	if l.labels++; l.labels > maxLabels {
		return tooMany, nil
	}
	size := r.at - start
	if l.apart {
		size += len(w.keys) - l.copied
	} else {
		size += l.end - l.first
	}
	switch {
	case size > maxKey:
		return tooLong, nil
	case l.apart:
	case l.labels == 1:
		l.first, l.end = start, r.at
		return "", nil
	case start == l.end:
		l.end = r.at
		return "", nil
	default:
		if err := w.chargeKeys(); err != nil {
			return "", err
		}
		l.apart, l.copied = true, len(w.keys)
		w.keys = append(w.keys, r.b[l.first:l.end]...)
	}
	w.keys = append(w.keys, r.b[start:r.at]...)
	return "", nil
}

// What is wrong with a series that has too much.
var (
	tooMany = fmt.Sprintf("it has more than %d labels", maxLabels)
	tooLong = "the labels are too long"
)

// chargeKeys charges w.keys before the first labels are copied to it. All together they are no
// longer than the body.
func (w *work) chargeKeys() error {
	if len(w.keys) > 0 {
		return nil
	}
	return w.charge(2 * len(w.body))
}

// labels passes over labels as every sender writes them: the first fields of the series, each of
// fewer than 128 bytes. It leaves all others where they are. It returns how many it has passed.
func (r *reader) labels() (n int) {
	const tag = fieldLabels1<<3 | byte(protowire.BytesType)
	at, b := 0, r.b
	for n < maxLabels && at+1 < len(b) && b[at] == tag && b[at+1] < 0x80 && at+2+int(b[at+1]) <= len(b) {
		at += 2 + int(b[at+1])
		n++
	}
	r.at = at
	return n
}

// sample reads one sample. A sample as every sender writes it, value first, is read at once.
func (w *work) sample(r *reader, f field) error {
	const valueTag, timeTag = fieldValue<<3 | 1, fieldTime << 3
	if b := r.b[r.at:]; f.kind == protowire.BytesType && len(b) >= 17 && b[0] == 16 && b[1] == valueTag && b[10] == timeTag &&
		b[11]&b[12]&b[13]&b[14]&b[15] >= 0x80 && b[16] < 0x80 {
		ms := int64(b[11]&0x7f) | int64(b[12]&0x7f)<<7 | int64(b[13]&0x7f)<<14 |
			int64(b[14]&0x7f)<<21 | int64(b[15]&0x7f)<<28 | int64(b[16])<<35
		r.at += 17
		return w.addSample(wireSample{bits: binary.LittleEndian.Uint64(b[2:]), ms: ms})
	}
	m, err := r.message(f, "a sample")
	if err != nil {
		return err
	}
	var s wireSample
	for {
		f, ok, err := m.next()
		if err != nil {
			return err
		}
		if !ok {
			return w.addSample(s)
		}
		var v uint64
		switch {
		case f.number == fieldValue:
			s.bits, err = m.double(f, "the value of a sample")
		case f.number == fieldTime:
			v, err = m.number(f, "the time of a sample")
			s.ms = int64(v)
		case f.number == fieldStart && f.kind == protowire.VarintType: // 1.0 has no field 3
			v, err = m.number(f, "the start of a sample")
			s.start = int64(v)
		default:
			err = m.skip(f)
		}
		if err != nil {
			return err
		}
	}
}

func (w *work) metadata1(r reader) error {
	var x wireMetadata
	for {
		f, ok, err := r.next()
		if err != nil {
			return err
		}
		if !ok {
			if w.metadata, err = room(w, w.metadata, maxMetadata, "families of metadata"); err == nil {
				w.metadata = append(w.metadata, x)
			}
			return err
		}
		switch f.number {
		case fieldType:
			var v uint64
			v, err = r.number(f, "the type of metadata")
			x.kind = kind(min(v, uint64(kinds)))
		case fieldFamily:
			x.family, err = r.bytes(f, "the name of metadata")
		case fieldHelp:
			x.help, err = r.bytes(f, "the help of metadata")
		case fieldU:
			x.unit, err = r.bytes(f, "the unit of metadata")
		default:
			err = r.skip(f)
		}
		if err != nil {
			return err
		}
	}
}

func (w *work) parse(key []byte) ([]wireLabel, error) {
	w.label = w.label[:0]
	r := reader{b: key}
	for {
		f, ok, err := r.next()
		if !ok {
			return w.label, err
		}
		m, err := r.message(f, "a label")
		if err != nil {
			return nil, err
		}
		var l wireLabel
		for {
			f, ok, err := m.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			switch f.number {
			case fieldName:
				l.name, err = m.bytes(f, "the name of a label")
			case fieldText:
				l.value, err = m.bytes(f, "the value of a label")
			default:
				err = m.skip(f)
			}
			if err != nil {
				return nil, err
			}
		}
		w.label = append(w.label, l)
	}
}
