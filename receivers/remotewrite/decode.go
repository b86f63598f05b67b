package remotewrite

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// A work is the memory in which one request is read. It is used again for further requests.
type work struct {
	body     []byte // unpacked
	series   []wireSeries
	samples  []wireSample
	metadata []wireMetadata
	symbols  [][]byte // of 2.0
	keys     []byte   // keys that do not stand in body
	label    []wireLabel

	batch  core.Batch
	flight uint16   // of the samples in it: see flights
	epoch  uint64   // of entries
	entry  []uint32 // by series; none: the key is not known
	fresh  []fresh  // series that were entered for this request
	texts  []receivers.Description
	// news and reqs are the series that are to be made, and failed is why the sink made none.
	news   []*newcomer
	reqs   []receivers.Request
	failed error
	refusals
}

// A fresh series is one that was entered into the table: its number, and its index in the request.
type fresh struct {
	number uint32
	i      int
}

// A wireSeries is one series of a request.
type wireSeries struct {
	// key is the labels as 1.0 writes them: one field each. It points into the body, or into
	// work.keys.
	key        []byte
	from, to   uint32 // its samples
	native     uint32 // native histograms
	exemplars  uint32
	fault      string // what is wrong with its references; empty: nothing
	kind       kind   // of 2.0, as are the fields below
	help, unit uint32
	created    int64 // milliseconds since 1970; 0: not said
}

// A wireSample is one sample: the bits of a double, and milliseconds since 1970.
type wireSample struct {
	bits  uint64
	ms    int64
	start int64 // when its counter began; 0: not said
}

// A wireMetadata is the metadata of one family of metrics.
type wireMetadata struct {
	family, help, unit []byte
	kind               kind
}

type wireLabel struct{ name, value []byte }

func (w *work) reset() {
	w.series, w.samples, w.metadata = w.series[:0], w.samples[:0], w.metadata[:0]
	w.symbols, w.keys, w.entry = w.symbols[:0], w.keys[:0], w.entry[:0]
	w.fresh, w.texts, w.failed = w.fresh[:0], nil, nil
	clear(w.news)
	clear(w.reqs)
	w.news, w.reqs = w.news[:0], w.reqs[:0]
	w.batch.Reset()
	w.refusals.reset()
}

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

// series1 reads one series. Its labels mostly stand one behind the other, and are its key as they
// are. Otherwise they are copied.
func (w *work) series1(r reader) error {
	s := wireSeries{from: uint32(len(w.samples))}
	first, end, apart := -1, 0, -1 // of the labels; of the copy
	if r.labels(); r.at > 0 {
		first, end = 0, r.at
	}
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
			_, err = r.bytes(f, "a label")
			switch {
			case err != nil:
			case first < 0:
				first, end = start, r.at
			case apart >= 0:
				w.keys = append(w.keys, r.b[start:r.at]...)
			case start == end:
				end = r.at
			default:
				apart = len(w.keys)
				w.keys = append(append(w.keys, r.b[first:end]...), r.b[start:r.at]...)
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
	switch {
	case apart >= 0:
		s.key = w.keys[apart:len(w.keys):len(w.keys)]
	case first >= 0:
		s.key = r.b[first:end:end]
	}
	s.to = uint32(len(w.samples))
	w.series = append(w.series, s)
	return nil
}

// labels passes over labels as every sender writes them: the first fields of the series, each of
// fewer than 128 bytes. It leaves all others where they are.
func (r *reader) labels() {
	const tag = fieldLabels1<<3 | byte(protowire.BytesType)
	at, b := 0, r.b
	for at+1 < len(b) && b[at] == tag && b[at+1] < 0x80 && at+2+int(b[at+1]) <= len(b) {
		at += 2 + int(b[at+1])
	}
	r.at = at
}

// sample reads one sample. A sample as every sender writes it, value first, is read at once.
func (w *work) sample(r *reader, f field) error {
	const valueTag, timeTag = fieldValue<<3 | 1, fieldTime << 3
	if b := r.b[r.at:]; f.kind == protowire.BytesType && len(b) >= 17 && b[0] == 16 && b[1] == valueTag && b[10] == timeTag &&
		b[11]&b[12]&b[13]&b[14]&b[15] >= 0x80 && b[16] < 0x80 {
		ms := int64(b[11]&0x7f) | int64(b[12]&0x7f)<<7 | int64(b[13]&0x7f)<<14 |
			int64(b[14]&0x7f)<<21 | int64(b[15]&0x7f)<<28 | int64(b[16])<<35
		w.samples = append(w.samples, wireSample{bits: binary.LittleEndian.Uint64(b[2:]), ms: ms})
		r.at += 17
		return nil
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
			w.samples = append(w.samples, s)
			return nil
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
			w.metadata = append(w.metadata, x)
			return nil
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

// labels reads the labels of a key.
func (w *work) labels(key []byte) ([]wireLabel, error) {
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
