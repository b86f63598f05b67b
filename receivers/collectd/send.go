package collectd

import (
	"crypto/rand"
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
