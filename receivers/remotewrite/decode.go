package remotewrite

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers/internal/protobuf"
)

// The numbers of the fields of both messages. docs/wire/remotewrite.md describes them.
const (
	fieldSeries1, fieldMetadata1   = 1, 3 // prometheus.WriteRequest
	fieldLabels1, fieldSamples     = 1, 2 // its TimeSeries; samples are the same in both
	fieldExemplars1, fieldNative1  = 3, 4
	fieldSymbols, fieldSeries2     = 4, 5 // io.prometheus.write.v2.Request
	fieldRefs                      = 1    // its TimeSeries
	fieldNative2, fieldExemplars2  = 3, 4
	fieldMetadata2, fieldCreated   = 5, 6
	fieldName, fieldText           = 1, 2 // of a label: name and value
	fieldValue, fieldTime          = 1, 2 // of a sample
	fieldStart                     = 3    // of a sample of 2.0: when the counter began
	fieldType                      = 1    // of metadata, both
	fieldFamily, fieldHelp, fieldU = 2, 4, 5
	fieldHelpRef, fieldUnitRef     = 3, 4
)

// decode1 reads a request of version 1.0, the message prometheus.WriteRequest.
func (w *work) decode1() error {
	r := protobuf.Reader{B: w.body}
	for r.Next() {
		switch r.Number {
		case fieldSeries1:
			r.Fail(w.series1(r.Message("a series")))
		case fieldMetadata1:
			r.Fail(w.metadata1(r.Message("metadata")))
		}
	}
	return r.Err()
}

// series1 reads one series.
func (w *work) series1(r protobuf.Reader) error {
	s := wireSeries{from: uint32(len(w.samples))}
	l := passLabels(&r)
	for r.Next() {
		switch r.Number {
		case fieldLabels1:
			if r.Bytes("a label"); s.fault == "" {
				s.fault = l.add(&r)
			}
		case fieldSamples:
			r.Fail(w.sample(&r))
		case fieldExemplars1:
			r.Bytes("an exemplar")
			s.exemplars++
		case fieldNative1:
			r.Bytes("a histogram")
			s.native++
		}
	}
	if s.labels = r.B[l.first:l.end:l.end]; l.apart {
		r.Fail(w.gather(&s, r.B, l.size))
	}
	r.Fail(w.addSeries(s))
	return r.Err()
}

// A labels1 is where the labels of a series of 1.0 stand. They are mostly one behind the other, and
// are taken as they are.
type labels1 struct {
	count, size int
	first, end  int
	apart       bool
}

// add adds the label that r has read. It returns what is wrong with the series if that is too much.
func (l *labels1) add(r *protobuf.Reader) (fault string) {
	size := r.At - r.Start
	switch {
	case l.count == maxLabels:
		return tooMany
	case l.size+size > maxKey:
		return tooLong
	case l.count == 0:
		l.first = r.Start
	default:
		l.apart = l.apart || r.Start != l.end
	}
	l.count, l.size, l.end = l.count+1, l.size+size, r.At
	return ""
}

// gather copies the labels of s, of size bytes together, which stand apart in b.
func (w *work) gather(s *wireSeries, b []byte, size int) error {
	from := len(w.keys)
	r := protobuf.Reader{B: b}
	for len(w.keys)-from < size && r.Next() {
		if r.Number == fieldLabels1 {
			r.Bytes("a label")
			r.Fail(w.keep(b[r.Start:r.At]))
		}
	}
	s.labels = w.keys[from:len(w.keys):len(w.keys)]
	return r.Err()
}

// What is wrong with a series that has too much.
var (
	tooMany = fmt.Sprintf("it has more than %d labels", maxLabels)
	tooLong = "the labels are too long"
)

// keep appends b to w.keys, whose memory is charged.
func (w *work) keep(b []byte) error {
	if n := len(w.keys); len(b) > cap(w.keys)-n {
		more := max(len(b), n, 1024)
		if err := w.charge(n + more); err != nil {
			return err
		}
		w.keys = slices.Grow(w.keys, more)
	}
	w.keys = append(w.keys, b...)
	return nil
}

// passLabels passes over labels as every sender writes them: the first fields of the series, each
// of fewer than 128 bytes. It leaves all others where they are.
func passLabels(r *protobuf.Reader) (l labels1) {
	const tag = fieldLabels1<<3 | byte(protowire.BytesType)
	at, b := 0, r.B
	for l.count < maxLabels && at+1 < len(b) && b[at] == tag && b[at+1] < 0x80 && at+2+int(b[at+1]) <= len(b) {
		at += 2 + int(b[at+1])
		l.count++
	}
	r.At, l.size, l.end = at, at, at
	return l
}

// sample reads one sample. A sample as every sender writes it, value first, is read at once.
func (w *work) sample(r *protobuf.Reader) error {
	const valueTag, timeTag = fieldValue<<3 | 1, fieldTime << 3
	if b := r.B[r.At:]; r.Kind == protowire.BytesType && len(b) >= 17 && b[0] == 16 && b[1] == valueTag && b[10] == timeTag &&
		b[11]&b[12]&b[13]&b[14]&b[15] >= 0x80 && b[16] < 0x80 {
		ms := int64(b[11]&0x7f) | int64(b[12]&0x7f)<<7 | int64(b[13]&0x7f)<<14 |
			int64(b[14]&0x7f)<<21 | int64(b[15]&0x7f)<<28 | int64(b[16])<<35
		r.Pass(17)
		return w.addSample(wireSample{bits: binary.LittleEndian.Uint64(b[2:]), ms: ms})
	}
	m := r.Message("a sample")
	var s wireSample
	for m.Next() {
		switch {
		case m.Number == fieldValue:
			s.bits = m.Fixed("the value of a sample")
		case m.Number == fieldTime:
			s.ms = int64(m.Uint("the time of a sample"))
		case m.Is(fieldStart, protowire.VarintType): // 1.0 has no field 3
			s.start = int64(m.Uint("the start of a sample"))
		}
	}
	m.Fail(w.addSample(s))
	return m.Err()
}

func (w *work) metadata1(r protobuf.Reader) (err error) {
	var x wireMetadata
	for r.Next() {
		switch r.Number {
		case fieldType:
			x.kind = kindOf(r.Uint("the type of metadata"))
		case fieldFamily:
			x.family = r.Bytes("the name of metadata")
		case fieldHelp:
			x.help = r.Bytes("the help of metadata")
		case fieldU:
			x.unit = r.Bytes("the unit of metadata")
		}
	}
	w.metadata, err = room(w, w.metadata, maxMetadata, "families of metadata")
	if r.Fail(err); r.Err() == nil {
		w.metadata = append(w.metadata, x)
	}
	return r.Err()
}

func (w *work) parse(key []byte) ([]wireLabel, error) {
	w.label = w.label[:0]
	r := protobuf.Reader{B: key}
	for r.Next() {
		m := r.Message("a label")
		var l wireLabel
		for m.Next() {
			switch m.Number {
			case fieldName:
				l.name = m.Bytes("the name of a label")
			case fieldText:
				l.value = m.Bytes("the value of a label")
			}
		}
		r.Fail(m.Err())
		w.label = append(w.label, l)
	}
	return w.label, r.Err()
}
