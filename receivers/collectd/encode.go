package collectd

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
)

// DefaultPacketBytes is the default length of collectd's packets.
const DefaultPacketBytes = 1452

// An Encoder puts value lists and notifications into one packet. It leaves out fields that have not
// changed from one to the next. It makes the same bytes as collectd's network plugin. The zero
// value is ready.
type Encoder struct {
	// Most is the largest packet in bytes, signature and encryption not counted; 0: 1452.
	Most int

	buf  []byte
	last ValueList
}

// Add adds v and reports whether there was room. Names must not be longer than 127 bytes, nor hold
// a NUL.
func (e *Encoder) Add(v *ValueList) bool {
	start := len(e.buf)
	e.buf = appendChanged(e.buf, partHost, v.Host, e.last.Host)
	if v.Time != e.last.Time {
		e.buf = appendNumber(e.buf, partTimeHR, uint64(v.Time))
	}
	if v.Interval != e.last.Interval {
		e.buf = appendNumber(e.buf, partIntervalHR, uint64(v.Interval))
	}
	e.names(&v.Names)
	n := len(v.Kinds)
	e.buf = binary.BigEndian.AppendUint16(e.buf, partValues)
	e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(valuesHeader+valueBytes*n))
	e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(n))
	e.buf = append(append(e.buf, v.Kinds...), v.Raw...)
	if !e.fits(start) {
		return false
	}
	e.remember(&v.Names, v.Time)
	e.last.Interval = v.Interval
	return true
}

// Note adds n and reports whether there was room.
func (e *Encoder) Note(n *Notification) bool {
	start := len(e.buf)
	if n.Time != e.last.Time {
		e.buf = appendNumber(e.buf, partTimeHR, uint64(n.Time))
	}
	e.buf = appendNumber(e.buf, partSeverity, uint64(n.Severity))
	e.buf = appendChanged(e.buf, partHost, n.Host, e.last.Host)
	e.names(&n.Names)
	e.buf = appendString(e.buf, partMessage, n.Message)
	if !e.fits(start) {
		return false
	}
	e.remember(&n.Names, n.Time)
	return true
}

// Bytes returns the packet so far; it is valid until the next call.
func (e *Encoder) Bytes() []byte { return e.buf }

// Reset begins a new packet.
func (e *Encoder) Reset() { *e = Encoder{Most: e.Most, buf: e.buf[:0]} }

func (e *Encoder) fits(start int) bool {
	if len(e.buf) > cmp.Or(e.Most, DefaultPacketBytes) {
		e.buf = e.buf[:start]
		return false
	}
	return true
}

// names appends all names but the host that have changed.
func (e *Encoder) names(n *Names) {
	e.buf = appendChanged(e.buf, partPlugin, n.Plugin, e.last.Plugin)
	e.buf = appendChanged(e.buf, partPluginInstance, n.PluginInstance, e.last.PluginInstance)
	e.buf = appendChanged(e.buf, partType, n.Type, e.last.Type)
	e.buf = appendChanged(e.buf, partTypeInstance, n.TypeInstance, e.last.TypeInstance)
}

func (e *Encoder) remember(n *Names, at Stamp) {
	names := n.all()
	for i, last := range e.last.all() {
		*last = append((*last)[:0], *names[i]...)
	}
	e.last.Time = at
}

// appendChanged appends a text unless it has not changed.
func appendChanged(dst []byte, part uint16, s, was []byte) []byte {
	if bytes.Equal(s, was) {
		return dst
	}
	return appendString(dst, part, s)
}

func appendString(dst []byte, part uint16, s []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, part)
	dst = binary.BigEndian.AppendUint16(dst, uint16(partHeader+len(s)+1))
	return append(append(dst, s...), 0)
}

func appendNumber(dst []byte, part uint16, x uint64) []byte {
	dst = binary.BigEndian.AppendUint16(dst, part)
	dst = binary.BigEndian.AppendUint16(dst, numberPart)
	return binary.BigEndian.AppendUint64(dst, x)
}

// AppendSigned appends the packet parts, signed by the user name. Nothing may follow in a datagram.
func AppendSigned(dst []byte, name, password string, parts []byte) ([]byte, error) {
	size := signHeader + len(name)
	if name == "" || size > 0xffff {
		return dst, fmt.Errorf("user's name of %d bytes", len(name))
	}
	signed := append([]byte(name), parts...)
	dst = binary.BigEndian.AppendUint16(dst, partSignature)
	dst = binary.BigEndian.AppendUint16(dst, uint16(size))
	dst = append(dst, newUser(password).sign(signed)...)
	return append(dst, signed...), nil
}

// AppendEncrypted appends the packet parts, encrypted by the user name. iv must be random, and must
// not be used twice with one password.
func AppendEncrypted(dst []byte, name, password string, iv [16]byte, parts []byte) ([]byte, error) {
	size := cryptHeader + len(name) + len(parts)
	if name == "" || len(parts) == 0 || size > 0xffff {
		return dst, fmt.Errorf("user's name of %d bytes and %d bytes of parts", len(name), len(parts))
	}
	dst = binary.BigEndian.AppendUint16(dst, partEncryption)
	dst = binary.BigEndian.AppendUint16(dst, uint16(size))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(name)))
	dst = append(append(dst, name...), iv[:]...)
	sum := sha1.Sum(parts)
	start := len(dst)
	dst = append(append(dst, sum[:]...), parts...)
	newUser(password).ofb(iv[:], dst[start:])
	return dst, nil
}
