package rrdd

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/rra"
)

// The types below read and write themselves as texts, for flags and files of settings.

// MarshalText returns the word.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the word, without regard to case.
func (t *Type) UnmarshalText(text []byte) error { return parseWordOf(t, text, typeWords) }

// MarshalText returns the word.
func (v ValueType) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word, without regard to case.
func (v *ValueType) UnmarshalText(text []byte) error { return parseWordOf(v, text, valueTypeWords) }

// MarshalText returns the word.
func (t Transform) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the word, without regard to case.
func (t *Transform) UnmarshalText(text []byte) error { return parseWordOf(t, text, transformWords) }

func parseWordOf[T ~uint8](dst *T, text []byte, words []string) error {
	i, ok := scalar{kind: stringScalar, text: text}.word(words)
	if !ok {
		return fmt.Errorf("want one of %s", strings.Join(words, ", "))
	}
	*dst = T(i)
	return nil
}

// ParseOwner reads "host", "vm UUID" or "sr UUID".
func ParseOwner(text string) (o Owner, uuid string, err error) {
	o, uuid, ok := scalar{kind: stringScalar, text: []byte(text)}.owner("")
	if !ok {
		return 0, "", fmt.Errorf("owner %q: want host, vm UUID or sr UUID", text)
	}
	return o, uuid, nil
}

// ParseValue reads a value as it stands in a file of version 1: a whole number where t is Int64,
// else a number, nan or inf.
func ParseValue(text string, t ValueType) (rra.Value, error) {
	v, ok := scalar{kind: stringScalar, text: []byte(text)}.reading(t)
	if !ok {
		return rra.Value{}, fmt.Errorf("%q is no %s", text, t)
	}
	return v, nil
}
