package rra

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The binary form of a State:
//
//	1 byte     version, stateVersion
//	uvarint    words
//	8 bytes    each word, little-endian
//	uvarint    texts
//	           each text: uvarint data source, uvarint length, the bytes;
//	           data sources ascend
//
// machine.go describes the words. A change of their layout or of the tags changes the version too.
const stateVersion = 3

// errState is what every error of UnmarshalBinary wraps.
var errState = errors.New("state is damaged")

// AppendBinary appends the binary form of s to b.
func (s *State) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, stateVersion)
	b = binary.AppendUvarint(b, uint64(len(s.W)))
	for _, w := range s.W {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	n := 0
	for _, t := range s.Text {
		if t != "" {
			n++
		}
	}
	b = binary.AppendUvarint(b, uint64(n))
	for i, t := range s.Text {
		if t != "" {
			b = binary.AppendUvarint(b, uint64(i))
			b = binary.AppendUvarint(b, uint64(len(t)))
			b = append(b, t...)
		}
	}
	return b, nil
}

// MarshalBinary returns the binary form of s.
func (s *State) MarshalBinary() ([]byte, error) {
	return s.AppendBinary(make([]byte, 0, 8*len(s.W)+16))
}

// UnmarshalBinary sets s from its binary form. [Machine.Check] reports whether s is a state of a
// certain Machine.
func (s *State) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("%w: it is empty", errState)
	}
	if b[0] != stateVersion {
		return fmt.Errorf("state has version %d, not %d", b[0], stateVersion)
	}
	r := stateReader{rest: b[1:]}
	words := r.uvarint()
	if words > uint64(len(r.rest))/8 {
		return fmt.Errorf("%w: %d words in %d bytes", errState, words, len(r.rest))
	}
	next := State{W: make([]uint64, words)}
	for i := range next.W {
		next.W[i] = binary.LittleEndian.Uint64(r.rest[8*i:])
	}
	r.rest = r.rest[8*words:]
	for n, least := r.uvarint(), uint64(0); n > 0 && !r.short; n-- {
		i, text := r.uvarint(), r.text()
		if i < least || i >= MaxSources || text == "" {
			return fmt.Errorf("%w: text of data source %d", errState, i)
		}
		least = i + 1
		next.Text = append(next.Text, make([]string, int(i)+1-len(next.Text))...)
		next.Text[i] = text
	}
	if r.short || len(r.rest) > 0 {
		return fmt.Errorf("%w: %d bytes do not end where it does", errState, len(b))
	}
	*s = next
	return nil
}

// A stateReader takes bytes from the front of rest.
type stateReader struct {
	rest  []byte
	short bool
}

func (r *stateReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.short, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *stateReader) text() string {
	n := r.uvarint()
	if n > maxText || n > uint64(len(r.rest)) {
		r.short = true
		return ""
	}
	t := string(r.rest[:n])
	r.rest = r.rest[n:]
	return t
}

// maxText is the length of the longest last reading in bytes.
const maxText = LastReading

// Check returns an error if s is not a valid state of m. It completes the texts of s, or drops them
// if all are empty: so equal states have equal texts, as they have in binary form. A state that is
// valid can be stepped, and is valid again after every step.
func (m *Machine) Check(s *State) error {
	if len(s.W) != m.words {
		return fmt.Errorf("state has %d words, not %d", len(s.W), m.words)
	}
	if len(s.Text) > len(m.sources) {
		return fmt.Errorf("state has texts of %d data sources, there are %d", len(s.Text), len(m.sources))
	}
	s.dropTexts()
	if len(s.Text) > 0 {
		s.Text = append(slices.Clip(s.Text), make([]string, len(m.sources)-len(s.Text))...)
	}
	if int64(s.W[wordLast]) < 0 {
		return fmt.Errorf("state has a last update before 1970: %d", int64(s.W[wordLast]))
	}
	for i := range m.sources {
		meta := m.ds(s.W, i)[dsMeta]
		tag := Tag(meta & 0xff)
		hasText := i < len(s.Text) && s.Text[i] != ""
		switch {
		case tag > TagText:
			return fmt.Errorf("data source %d: last reading has tag %d", i, tag)
		case hasText && len(s.Text[i]) > maxText:
			return fmt.Errorf("data source %d: last reading is a text of %d bytes, more than %d", i, len(s.Text[i]), maxText)
		case hasText && tag != TagText:
			return fmt.Errorf("data source %d: last reading is a text and tagged %d", i, tag)
		case meta>>8 > maxUnknownSec:
			return fmt.Errorf("data source %d: %d unknown seconds", i, meta>>8)
		}
	}
	for i := range m.archives {
		a := &m.archives[i]
		if cur := a.row(s.W); cur >= a.rows {
			return fmt.Errorf("archive %d: current row %d of %d", i, cur, a.rows)
		}
		if !a.cf.classical() || a.n == 1 {
			continue
		}
		for d := range m.sources {
			if n := s.W[a.off+cdpWords*d+cdpMeta] & 0xffffffff; n > maxUnknownPDPs {
				return fmt.Errorf("archive %d: data source %d: %d unknown PDPs", i, d, n)
			}
		}
	}
	return nil
}
