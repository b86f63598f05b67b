package gmetric

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/rra"
)

// AppendBinary appends m as a datagram. The error says which field is not valid in such a message:
// Decode would not read it back. It ignores HostName and IP: the Host of a spoofed message is
// "IP:NAME".
func (m *Message) AppendBinary(dst []byte) ([]byte, error) {
	b, err := m.append(dst)
	if err == nil {
		err = new(Message).Decode(b[len(dst):])
	}
	if err != nil {
		return dst, err
	}
	return b, nil
}

func (m *Message) append(dst []byte) ([]byte, error) {
	b := binary.BigEndian.AppendUint32(dst, uint32(m.Word))
	switch {
	case m.Word == WordGmetric:
		for _, s := range [...][]byte{m.Type, m.Name, m.Text, m.Units} {
			b = appendString(b, s)
		}
		return m.appendLimits(b), nil
	case m.Word.Core():
		return m.appendValue(b, coreMetrics[m.Word].wire)
	}
	b = appendString(b, m.Host)
	b = appendString(b, m.Name)
	spoof := uint32(0)
	if m.Spoof {
		spoof = 1
	}
	b = binary.BigEndian.AppendUint32(b, spoof)
	switch {
	case m.Word == WordMetadata:
		for _, s := range [...][]byte{m.Type, m.Name2, m.Units} {
			b = appendString(b, s)
		}
		b = m.appendLimits(b)
		b = binary.BigEndian.AppendUint32(b, uint32(len(m.Extra)))
		for _, p := range m.Extra {
			b = appendString(appendString(b, p.Key), p.Value)
		}
	case m.Word.Value():
		return m.appendValue(appendString(b, m.Format), m.Word)
	}
	return b, nil
}

// appendLimits appends slope, tmax and dmax.
func (m *Message) appendLimits(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.Slope))
	dst = binary.BigEndian.AppendUint32(dst, m.TMax)
	return binary.BigEndian.AppendUint32(dst, m.DMax)
}

// appendValue appends the value in the encoding of message w.
func (m *Message) appendValue(dst []byte, w Word) ([]byte, error) {
	n := m.Number
	switch w {
	case WordString:
		return appendString(dst, m.Text), nil
	case WordFloat, WordDouble:
		if n.Tag != rra.TagFloat {
			break
		}
		if w == WordDouble {
			return binary.BigEndian.AppendUint64(dst, n.Bits), nil
		}
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(math.Float64frombits(n.Bits)))), nil
	case WordUshort, WordUint:
		most := uint64(math.MaxUint16)
		if w == WordUint {
			most = math.MaxUint32
		}
		if n.Tag == rra.TagUint && n.Bits <= most {
			return binary.BigEndian.AppendUint32(dst, uint32(n.Bits)), nil
		}
	case WordShort, WordInt:
		least, most := int64(math.MinInt16), int64(math.MaxInt16)
		if w == WordInt {
			least, most = math.MinInt32, math.MaxInt32
		}
		if x := int64(n.Bits); n.Tag == rra.TagInt && x >= least && x <= most {
			return binary.BigEndian.AppendUint32(dst, uint32(x)), nil
		}
	}
	return dst, fmt.Errorf("number %+v is none of message %d", n, uint32(w))
}

func appendString(dst, s []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
	dst = append(dst, s...)
	return append(dst, "\x00\x00\x00"[:-len(s)&3]...)
}
