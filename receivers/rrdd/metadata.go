package rrdd

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
	"github.com/rondo-db/rondo/rra"
)

// A document is the content of one JSON text. Its memory is used again for the next text.
type document struct {
	parser
	version   int
	timestamp float64 // version 1
	sources   []Source
	values    []rra.Value // version 1
	old       []Source    // the sources of the last text: strings that are the same are not copied
	names     []named     // of sources, to find a name that occurs twice
}

type named struct {
	name string
	at   int // where it begins
}

// read parses a text. The result is in timestamp, sources and values; sources and values are valid
// until the next read. base is the offset of text in its file.
func (d *document) read(version int, text []byte, base int, old []Source) error {
	d.reset(text, base)
	d.version, d.old = version, old
	d.sources, d.values, d.names = d.sources[:0], d.values[:0], d.names[:0]
	timed, found, err := d.object()
	if err != nil {
		return err
	}
	if d.peek() != 0 || d.pos < len(d.text) {
		return d.unexpected("nothing more")
	}
	switch {
	case !found:
		return d.fail(0, "no datasources")
	case version == 1 && !timed:
		return d.fail(0, "no timestamp")
	}
	return d.twice()
}

// object reads the whole text. It reports whether the text has a timestamp and data sources.
func (d *document) object() (timed, found bool, err error) {
	if err := d.open('{'); err != nil {
		return false, false, err
	}
	for first := true; ; first = false {
		name, ok, err := d.name(first)
		if !ok || err != nil {
			return timed, found, err
		}
		switch string(name.text) {
		case "timestamp":
			if timed {
				return false, false, d.fail(name.at, "a second timestamp")
			}
			timed = true
			err = d.time()
		case "datasources", "data_sources":
			if found {
				return false, false, d.fail(name.at, "data sources a second time")
			}
			found = true
			err = d.dataSources()
		default:
			_, err = d.value()
		}
		if err != nil {
			return false, false, err
		}
	}
}

func (d *document) time() error {
	v, err := d.value()
	if err != nil || d.version != 1 {
		return err
	}
	ok := v.kind == numberScalar
	if ok {
		d.timestamp, ok = parseFloat(v.text)
	}
	if !ok {
		return d.fail(v.at, "timestamp is no number")
	}
	return nil
}

func (d *document) dataSources() error {
	if err := d.open('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		name, ok, err := d.name(first)
		if !ok || err != nil {
			return err
		}
		if len(d.sources) == MaxSources {
			return &receivers.Error{Reason: receivers.Limit, Offset: d.base + name.at, What: "more than 10000 data sources"}
		}
		if err := d.source(name); err != nil {
			return err
		}
	}
}

// The fields of a data source.
const (
	fieldValue = iota
	fieldValueType
	fieldType
	fieldOwner
	fieldDescription
	fieldUnits
	fieldMin
	fieldMax
	fieldDefault
	fieldTransform
	numFields
)

var fieldNames = [numFields]string{
	"value", "value_type", "type", "owner", "description", "units", "min", "max", "default", "transform",
}

// source reads the object of one data source.
func (d *document) source(name scalar) error {
	var fields [numFields]scalar
	if err := d.open('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		field, ok, err := d.name(first)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		v, err := d.value()
		if err != nil {
			return err
		}
		for i, f := range fieldNames {
			if f != string(field.text) {
				continue
			}
			if fields[i].kind != absent {
				return d.fail(field.at, "%.100q: %s a second time", name.text, f)
			}
			fields[i] = v
		}
	}
	return d.finish(name, &fields)
}

// finish makes a Source, and in version 1 a value, of the fields.
func (d *document) finish(name scalar, fields *[numFields]scalar) error {
	var old Source
	if i := len(d.sources); i < len(d.old) {
		old = d.old[i]
	}
	s := Source{Name: sameOrNew(old.Name, name.text), Min: math.Inf(-1), Max: math.Inf(1)}
	wrong := -1
	check := func(i int, ok bool) {
		if !ok && wrong < 0 {
			wrong = i
		}
	}
	v, ok := fields[fieldValueType].word(valueTypeWords)
	check(fieldValueType, ok && (d.version == 1 || fields[fieldValueType].kind != absent))
	t, ok := fields[fieldType].word(typeWords)
	check(fieldType, ok)
	tr, ok := fields[fieldTransform].word(transformWords)
	check(fieldTransform, ok)
	s.Type, s.ValueType, s.Transform = Type(t), ValueType(v), Transform(tr)
	s.Default, ok = fields[fieldDefault].boolean()
	check(fieldDefault, ok)
	s.Owner, s.UUID, ok = fields[fieldOwner].owner(old.UUID)
	check(fieldOwner, ok)
	s.Description, ok = fields[fieldDescription].string(old.Description)
	check(fieldDescription, ok)
	s.Units, ok = fields[fieldUnits].string(old.Units)
	check(fieldUnits, ok)
	check(fieldMin, fields[fieldMin].limit(&s.Min))
	check(fieldMax, fields[fieldMax].limit(&s.Max))
	if d.version == 1 {
		v, ok := fields[fieldValue].reading(s.ValueType)
		check(fieldValue, ok)
		d.values = append(d.values, v)
	}
	if wrong >= 0 {
		at := name.at
		if fields[wrong].kind != absent {
			at = fields[wrong].at
		}
		return d.fail(at, "%.100q: %s: %s", name.text, fieldNames[wrong], fields[wrong].describe())
	}
	d.sources = append(d.sources, s.unbounded())
	d.names = append(d.names, named{s.Name, name.at})
	return nil
}

// twice returns an error if a name occurs twice. It does not look again if the names equal the last
// text's.
func (d *document) twice() error {
	if slices.EqualFunc(d.sources, d.old, func(a, b Source) bool { return a.Name == b.Name }) {
		return nil
	}
	slices.SortFunc(d.names, func(a, b named) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(d.names); i++ {
		if a, b := d.names[i-1], d.names[i]; a.name == b.name {
			return d.fail(max(a.at, b.at), "data source %.100q a second time", b.name)
		}
	}
	return nil
}

// sameOrNew returns b as text: old, if it is the same.
func sameOrNew(old string, b []byte) string {
	if old == string(b) {
		return old
	}
	return receivers.Text(b)
}

// describe says what is wrong with a field.
func (s scalar) describe() string {
	switch s.kind {
	case absent:
		return "is missing"
	case stringScalar, numberScalar:
		return "cannot be " + strconv.Quote(string(s.text[:min(len(s.text), 100)]))
	case trueScalar, falseScalar:
		return "cannot be true or false"
	}
	return "cannot be null, an object or an array"
}

// word returns the index of the text in words, ignoring case. A text that is absent has index 0.
func (s scalar) word(words []string) (int, bool) {
	if s.kind == absent {
		return 0, true
	}
	for i, w := range words {
		if s.kind == stringScalar && equalFold(s.text, w) {
			return i, true
		}
	}
	return 0, false
}

// boolean reads "true" or "false", with quotes or without.
func (s scalar) boolean() (value, ok bool) {
	switch s.kind {
	case absent, falseScalar:
		return false, true
	case trueScalar:
		return true, true
	}
	i, ok := s.word(boolWords)
	return i == 1, ok
}

// equalFold compares b with a word in lower case, ignoring the case of ASCII letters.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// string returns a text, which may be absent.
func (s scalar) string(old string) (string, bool) {
	if s.kind == absent {
		return "", true
	}
	return sameOrNew(old, s.text), s.kind == stringScalar
}

// owner reads "host", "vm UUID" or "sr UUID".
func (s scalar) owner(old string) (Owner, string, bool) {
	if s.kind == absent {
		return Host, "", true
	}
	word, uuid, named := bytes.Cut(s.text, []byte(" "))
	for i, w := range ownerWords {
		if !equalFold(word, w) {
			continue
		}
		o := Owner(i)
		ok := named == (o != Host) && named == (len(uuid) > 0) && bytes.IndexByte(uuid, ' ') < 0
		return o, sameOrNew(old, uuid), ok && s.kind == stringScalar
	}
	return Host, "", false
}

// limit reads a minimum or maximum, if there is one, into x.
func (s scalar) limit(x *float64) (ok bool) {
	switch s.kind {
	case absent:
		return true
	case stringScalar, numberScalar:
		*x, ok = parseFloat(s.text)
	}
	return ok
}

func (s scalar) reading(t ValueType) (rra.Value, bool) {
	if s.kind != stringScalar && s.kind != numberScalar {
		return rra.Value{}, false
	}
	if t == Int64 {
		i, err := strconv.ParseInt(string(s.text), 10, 64)
		return rra.Int(i), err == nil
	}
	x, ok := parseFloat(s.text)
	return rra.Float(x), ok
}

// parseFloat parses a decimal number, or nan, inf or infinity with or without a sign. A number that
// is too large is infinite.
func parseFloat(b []byte) (float64, bool) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') && equalFold(b[1:], "nan") {
		return math.NaN(), true
	}
	return decimal.Parse(b)
}

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
