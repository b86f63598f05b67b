package collectd

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/receivers"
)

// A Handler takes the content of a datagram, in order.
type Handler interface {
	// List takes a value list. v and the slices in it are valid during the call only.
	List(v *ValueList)
	// Note takes a notification. n and the slices in it are valid during the call only.
	Note(n *Notification)
	// Drop is called for each value list or notification that is left out while reading goes on.
	Drop(r receivers.Reason)
}

// A Decoder reads datagrams. One goroutine at a time may use it. The zero value reads plain
// datagrams, and accepts signatures without verifying them.
type Decoder struct {
	// Level is the least protection that value lists and notifications need.
	Level Level
	// Users are the users who may sign and encrypt; nil: there is no users file.
	Users *Users
	// Unverified is set when a signature is accepted without verifying it, because Users is nil.
	Unverified bool

	vars  [maxNesting + 1]variables
	plain [maxNesting][]byte // decrypted payloads, by depth
}

// variables are set by parts. Value lists and notifications are made of them.
type variables struct {
	ValueList
	severity uint64
	note     Notification // the one being handed over
}

// Decode hands the content of packet to h. If it cannot read the rest of packet, it returns a
// *receivers.Error; the content before remains valid. It does not change packet.
func (d *Decoder) Decode(packet []byte, h Handler) error {
	if err := d.packet(packet, 0, None, h); err != nil {
		return err
	}
	return nil
}

// packet reads the parts of a datagram, or of the signed or encrypted content of a part. depth is
// how many signatures and encryptions surround b, have the best protection among them.
func (d *Decoder) packet(b []byte, depth int, have Level, h Handler) *receivers.Error {
	c := &d.vars[depth]
	*c = variables{}
	c.changed = ofFirst | ofAll
	for off := 0; off < len(b); {
		rest := b[off:]
		if len(rest) < partHeader {
			return padding(rest, off, receivers.Truncated)
		}
		kind, size := int(binary.BigEndian.Uint16(rest)), int(binary.BigEndian.Uint16(rest[2:]))
		if size < partHeader {
			return padding(rest, off, receivers.Malformed)
		}
		if size > len(rest) {
			return fail(receivers.Truncated, off, "part %#04x has length %d, %d bytes are left", kind, size, len(rest))
		}
		var err *receivers.Error
		switch part := rest[:size]; kind {
		case partValues:
			err = d.values(c, part, have, h)
		case partHost:
			err = c.name(&c.Host, ofHost, part)
		case partPlugin:
			err = c.name(&c.Plugin, ofPlugin, part)
		case partPluginInstance:
			err = c.name(&c.PluginInstance, ofPluginInstance, part)
		case partType:
			err = c.name(&c.Type, ofType, part)
		case partTypeInstance:
			err = c.name(&c.TypeInstance, ofTypeInstance, part)
		case partTime:
			err = seconds(&c.Time, part)
		case partTimeHR:
			err = number((*uint64)(&c.Time), part)
		case partInterval:
			err = seconds(&c.Interval, part)
		case partIntervalHR:
			err = number((*uint64)(&c.Interval), part)
		case partSeverity:
			err = number(&c.severity, part)
		case partMessage:
			err = d.message(c, part, have, h)
		case partSignature:
			return d.signed(rest, size, depth, have, h)
		case partEncryption:
			err = d.encrypted(part, depth, h)
			c.changed = ofFirst | ofAll // the part may have contained lists
		}
		if err != nil {
			err.Offset += off
			return err
		}
		off += size
	}
	return nil
}

func fail(r receivers.Reason, off int, format string, args ...any) *receivers.Error {
	return &receivers.Error{Reason: r, Offset: off, What: fmt.Sprintf(format, args...)}
}

// padding returns nil if rest, which is no part, is padding: zeros behind some part. Otherwise it
// returns an error.
func padding(rest []byte, off int, why receivers.Reason) *receivers.Error {
	switch {
	case off > 0 && len(bytes.Trim(rest, "\x00")) == 0:
		return nil
	case why == receivers.Truncated:
		return fail(why, off, "%d bytes where a part begins", len(rest))
	}
	return fail(why, off, "part %#04x has length %d", binary.BigEndian.Uint16(rest), binary.BigEndian.Uint16(rest[2:]))
}

// name reads a string part.
func (c *variables) name(s *[]byte, which parts, part []byte) *receivers.Error {
	text, err := text(part, nameBytes)
	if err != nil {
		return err
	}
	*s = text
	c.changed |= which
	return nil
}

func text(part []byte, most int) ([]byte, *receivers.Error) {
	s := part[partHeader:]
	if len(s) == 0 || s[len(s)-1] != 0 {
		return nil, fail(receivers.Malformed, 0, "string does not end in NUL")
	}
	if len(s)-1 > most {
		return nil, fail(receivers.Limit, 0, "string of %d bytes, %d is the most", len(s)-1, most)
	}
	return s[:bytes.IndexByte(s, 0)], nil
}

func number(x *uint64, part []byte) *receivers.Error {
	if len(part) != numberPart {
		return fail(receivers.Malformed, 0, "number has length %d, not %d", len(part), numberPart)
	}
	*x = binary.BigEndian.Uint64(part[partHeader:])
	return nil
}

func seconds(s *Stamp, part []byte) *receivers.Error {
	var x uint64
	if err := number(&x, part); err != nil {
		return err
	}
	if x >= maxSeconds {
		return fail(receivers.Malformed, 0, "%d seconds", x)
	}
	*s = Stamp(x << 30)
	return nil
}

func (d *Decoder) values(c *variables, part []byte, have Level, h Handler) *receivers.Error {
	if len(part) < valuesHeader {
		return fail(receivers.Malformed, 0, "values part has length %d", len(part))
	}
	n := int(binary.BigEndian.Uint16(part[partHeader:]))
	if n == 0 || len(part) != valuesHeader+valueBytes*n {
		return fail(receivers.Malformed, 0, "values part has length %d for %d values", len(part), n)
	}
	c.Kinds, c.Raw = part[valuesHeader:valuesHeader+n:valuesHeader+n], part[valuesHeader+n:]
	for _, k := range c.Kinds {
		if k > KindAbsolute {
			return fail(receivers.Malformed, 0, "value of kind %d", k)
		}
	}
	switch {
	case have < d.Level:
		h.Drop(receivers.Auth)
	case len(c.Host) == 0 || len(c.Plugin) == 0 || len(c.Type) == 0 || c.Time == 0:
		h.Drop(receivers.State)
	default:
		h.List(&c.ValueList)
		c.changed = 0
	}
	return nil
}

func (d *Decoder) message(c *variables, part []byte, have Level, h Handler) *receivers.Error {
	s, err := text(part, messageBytes)
	if err != nil {
		return err
	}
	_, known := severities[Severity(c.severity)]
	switch {
	case have < d.Level:
		h.Drop(receivers.Auth)
	case !known || c.Time == 0 || len(s) == 0:
		h.Drop(receivers.State)
	default:
		c.note = Notification{Names: c.Names, Time: c.Time, Severity: Severity(c.severity), Message: s}
		h.Note(&c.note)
	}
	return nil
}

// signed reads a signature, which is the first size bytes of b, and the parts that it signs, which
// are the rest of b.
func (d *Decoder) signed(b []byte, size, depth int, have Level, h Handler) *receivers.Error {
	if d.Level == Encrypt && have < Encrypt {
		return fail(receivers.Auth, 0, "signed, not encrypted")
	}
	if size <= signHeader {
		return fail(receivers.Malformed, 0, "signature without a user")
	}
	name := b[signHeader:size]
	if bytes.IndexByte(name, 0) >= 0 {
		return fail(receivers.Malformed, 0, "NUL in the user's name")
	}
	if depth == maxNesting {
		return fail(receivers.Limit, 0, "more than %d levels of signatures and encryption", maxNesting)
	}
	if d.Users == nil {
		d.Unverified = true
	} else {
		u := d.Users.byName[string(name)]
		if u == nil {
			return fail(receivers.Auth, 0, "unknown user %q", name)
		}
		if !hmac.Equal(u.sign(b[signHeader:]), b[partHeader:signHeader]) {
			return fail(receivers.Auth, 0, "wrong signature of user %q", name)
		}
	}
	if err := d.packet(b[size:], depth+1, max(have, Sign), h); err != nil {
		err.Offset += size
		return err
	}
	return nil
}

// encrypted reads an encryption part, and the parts in it.
func (d *Decoder) encrypted(part []byte, depth int, h Handler) *receivers.Error {
	if len(part) < partHeader+2 {
		return fail(receivers.Malformed, 0, "encryption part has length %d", len(part))
	}
	n := int(binary.BigEndian.Uint16(part[partHeader:]))
	if n == 0 || len(part) <= cryptHeader+n {
		return fail(receivers.Malformed, 0, "encryption part has length %d with a user's name of %d", len(part), n)
	}
	name := part[partHeader+2:][:n]
	if bytes.IndexByte(name, 0) >= 0 {
		return fail(receivers.Malformed, 0, "NUL in the user's name")
	}
	if depth == maxNesting {
		return fail(receivers.Limit, 0, "more than %d levels of signatures and encryption", maxNesting)
	}
	if d.Users == nil {
		return fail(receivers.Auth, 0, "encrypted, and there is no users file")
	}
	u := d.Users.byName[string(name)]
	if u == nil {
		return fail(receivers.Auth, 0, "unknown user %q", name)
	}
	iv := part[partHeader+2+n:][:ivBytes]
	secret := part[partHeader+2+n+ivBytes:]
	plain := append(d.plain[depth][:0], secret...)
	d.plain[depth] = plain
	u.ofb(iv, plain)
	sum := sha1.Sum(plain[checksumBytes:])
	if subtle.ConstantTimeCompare(sum[:], plain[:checksumBytes]) != 1 {
		return fail(receivers.Auth, 0, "wrong password of user %q", name)
	}
	if err := d.packet(plain[checksumBytes:], depth+1, Encrypt, h); err != nil {
		err.Offset += len(part) - len(plain) + checksumBytes
		return err
	}
	return nil
}
