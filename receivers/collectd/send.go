package collectd

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Protection says how to protect packets, and with whose password.
type Protection struct {
	Level          Level
	User, Password string // unused for None
}

// AppendProtected appends the packet parts to dst, signed or encrypted as p says.
func (p *Protection) AppendProtected(dst, parts []byte) ([]byte, error) {
	switch p.Level {
	case Sign:
		return AppendSigned(dst, p.User, p.Password, parts)
	case Encrypt:
		var iv [16]byte
		_, _ = rand.Read(iv[:]) // it never fails
		return AppendEncrypted(dst, p.User, p.Password, iv, parts)
	}
	return append(dst, parts...), nil
}

// Password returns the password of a user.
func (u *Users) Password(name string) (string, bool) {
	if u := u.byName[name]; u != nil {
		return u.password, true
	}
	return "", false
}

// AppendPackets appends packets with lists and notes to dst, protected as p says.
func (p *Protection) AppendPackets(dst [][]byte, lists []ValueList, notes []Notification) ([][]byte, error) {
	var e Encoder
	if p.Level != None {
		e.Most = DefaultPacketBytes - cryptHeader - len(p.User) // as long as plain ones are
	}
	flush := func() error {
		b, err := p.AppendProtected(nil, e.Bytes())
		dst = append(dst, b)
		e.Reset()
		return err
	}
	add := func(to func() bool) error {
		if to() {
			return nil
		}
		if len(e.Bytes()) > 0 {
			if err := flush(); err != nil {
				return err
			}
			if to() {
				return nil
			}
		}
		return fmt.Errorf("longer than a packet, which has %d bytes", DefaultPacketBytes)
	}
	for i := range lists {
		if err := add(func() bool { return e.Add(&lists[i]) }); err != nil {
			return dst, err
		}
	}
	for i := range notes {
		if err := add(func() bool { return e.Note(&notes[i]) }); err != nil {
			return dst, err
		}
	}
	if len(e.Bytes()) == 0 {
		return dst, nil
	}
	return dst, flush()
}

// ParseIdentifier sets the names from HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE], the form of
// collectd's own commands. The instance follows the first "-".
func (n *Names) ParseIdentifier(s string) error {
	f := strings.Split(s, "/")
	if len(f) != 3 {
		return errors.New("want HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE]")
	}
	plugin, pluginInstance, _ := strings.Cut(f[1], "-")
	typ, typeInstance, _ := strings.Cut(f[2], "-")
	for _, x := range []struct {
		dst  *[]byte
		what string
		text string
		may  bool // be empty
	}{
		{&n.Host, "host", f[0], false},
		{&n.Plugin, "plugin", plugin, false},
		{&n.PluginInstance, "plugin instance", pluginInstance, true},
		{&n.Type, "type", typ, false},
		{&n.TypeInstance, "type instance", typeInstance, true},
	} {
		switch {
		case x.text == "" && !x.may:
			return fmt.Errorf("the %s is empty", x.what)
		case len(x.text) > nameBytes:
			return fmt.Errorf("the %s has %d bytes, %d is the most", x.what, len(x.text), nameBytes)
		case strings.IndexByte(x.text, 0) >= 0:
			return fmt.Errorf("the %s has a NUL in it", x.what)
		}
		*x.dst = []byte(x.text)
	}
	return nil
}

// ParseValues sets the values of v from V[:V…]. kind is the kind of all values; empty: the kinds of
// v's type in ts, or gauges if ts does not have the type. A gauge may be U, unknown.
func (v *ValueList) ParseValues(ts Types, kind, s string) error {
	words := strings.Split(s, ":")
	wire := make([]byte, len(words))
	known, ok := ts[string(v.Type)]
	switch {
	case kind != "":
		k, err := ParseKind(kind)
		if err != nil {
			return err
		}
		for i := range wire {
			wire[i] = k
		}
	case ok && len(known) != len(words):
		return fmt.Errorf("type %q has %d values, not %d", v.Type, len(known), len(words))
	default:
		for i := range wire {
			wire[i] = KindGauge
			if ok {
				wire[i] = byte(slices.Index(kinds[:], known[i].Kind))
			}
		}
	}
	v.Kinds, v.Raw = v.Kinds[:0], v.Raw[:0]
	for i, w := range words {
		if err := v.parse(wire[i], w); err != nil {
			return fmt.Errorf("value %q: %w", w, err)
		}
	}
	return nil
}

func (v *ValueList) parse(kind byte, s string) error {
	switch kind {
	case KindGauge:
		if s == "U" {
			s = "nan"
		}
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return errors.New("no number, nor U")
		}
		v.AddGauge(x)
	case KindDerive:
		x, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return errors.New("no integer of 64 bits, as DERIVE asks for")
		}
		v.AddDerive(x)
	default:
		x, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return errors.New("no integer of 64 bits without a sign, as COUNTER and ABSOLUTE ask for")
		}
		v.add(kind, x)
	}
	return nil
}

// ParseNotification sets severity and message of n from SEVERITY:MESSAGE.
func (n *Notification) ParseNotification(s string) error {
	severity, message, ok := strings.Cut(s, ":")
	if !ok {
		return errors.New("want SEVERITY:MESSAGE")
	}
	n.Severity = 0
	for x, word := range severities {
		if strings.EqualFold(severity, word) {
			n.Severity = x
		}
	}
	switch {
	case n.Severity == 0:
		return fmt.Errorf("severity %q is not failure, warning or okay", severity)
	case message == "":
		return errors.New("the message is empty")
	case len(message) > messageBytes:
		return fmt.Errorf("the message has %d bytes, %d is the most", len(message), messageBytes)
	case strings.IndexByte(message, 0) >= 0:
		return errors.New("the message has a NUL in it")
	}
	n.Message = []byte(message)
	return nil
}

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
