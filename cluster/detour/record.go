package detour

import (
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// recordVersion begins a record.
const recordVersion = 1

// makes is the flag of a sample that says how its series is made.
const makes = 1

// A sample is a reading of every data source of a series.
type sample struct {
	Path string
	// Make says how the series is made if it is missing; its path is Path. nil: the sample is
	// refused then.
	Make *core.Spec

	At     rra.Time
	Values []rra.Value
	Texts  []string // rra.Text(i) among Values stands for Texts[i]
}

// appendHead begins a record whose samples came at a time, in microseconds since 1970.
func appendHead(dst []byte, at int64) []byte {
	return binary.AppendVarint(append(dst, recordVersion), at)
}

// appendSample appends a sample. withMake says whether to say how the series is made.
func appendSample(dst []byte, s *sample, withMake bool) []byte {
	var flags byte
	if withMake {
		flags = makes
	}
	dst = record.AppendText(append(dst, flags), s.Path)
	if withMake {
		dst = appendSpec(dst, s.Make)
	}
	dst = binary.AppendVarint(dst, int64(s.At))
	dst = binary.AppendUvarint(dst, uint64(len(s.Values)))
	var prev uint64
	var tag uint8
	for _, v := range s.Values {
		dst = record.AppendValue(dst, v, s.Texts, &prev, &tag)
	}
	return dst
}

func appendSpec(dst []byte, spec *core.Spec) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(spec.Labels)))
	for _, l := range spec.Labels {
		dst = record.AppendText(dst, l.Name)
		dst = record.AppendText(dst, l.Value)
	}
	dst = record.AppendText(dst, string(core.AppendDefinition(nil, spec.Definition)))
	dst = binary.AppendVarint(dst, int64(spec.Start))
	return binary.LittleEndian.AppendUint64(dst, spec.SmoothHash)
}

// parseRecord calls fn for the samples of a record, and returns when they came. Before an error it
// calls fn for the samples that are whole.
func parseRecord(rec []byte, fn func(sample)) (at int64, err error) {
	r := record.Reader{Rest: rec}
	if v := r.Byte(); v != recordVersion {
		return 0, fmt.Errorf("spool record of version %d: %w", v, record.OtherVersion(uint64(v), recordVersion))
	}
	at = r.Varint()
	for len(r.Rest) > 0 && r.Err == nil {
		s := sample{}
		flags := r.Byte()
		if flags&^makes != 0 {
			return at, fmt.Errorf("spooled sample with the flags %#x: %w", flags, core.ErrNewer)
		}
		s.Path = r.Text()
		if flags&makes != 0 {
			if s.Make, err = readSpec(&r, s.Path); err != nil {
				return at, err
			}
		}
		s.At = rra.Time(r.Varint())
		var prev uint64
		var tag uint8
		for i := r.Uvarint(); i > 0 && r.Err == nil; i-- {
			s.Values = append(s.Values, r.Value(&s.Texts, &prev, &tag))
		}
		if r.Err == nil {
			fn(s)
		}
	}
	return at, r.Err
}

func readSpec(r *record.Reader, path string) (*core.Spec, error) {
	spec := &core.Spec{Path: path}
	for i := r.Uvarint(); i > 0 && r.Err == nil; i-- {
		spec.Labels = append(spec.Labels, core.Label{Name: r.Text(), Value: r.Text()})
	}
	code := r.Bytes(r.Uvarint())
	spec.Start, spec.SmoothHash = rra.Time(r.Varint()), r.Uint64()
	if r.Err != nil {
		return nil, r.Err
	}
	var err error
	spec.Definition, err = core.ParseDefinition(code)
	return spec, err
}
