package core

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// The version that begins the code of a definition, and the flags of an archive, are part of the format.
// Version 2 has flags; it is used only where some are set, so that equal definitions have equal codes.
const (
	definitionPlain = 1
	definitionFlags = 2

	archiveOwn = 1
)

// appendDefinition codes d; equal definitions have equal codes.
func appendDefinition(dst []byte, d *rra.Definition) []byte {
	version := byte(definitionPlain)
	if slices.ContainsFunc(d.Archives, func(a rra.Archive) bool { return a.Own }) {
		version = definitionFlags
	}
	dst = append(dst, version)
	dst = binary.AppendVarint(dst, d.Step)
	dst = binary.AppendUvarint(dst, uint64(len(d.Sources)))
	for i := range d.Sources {
		ds := &d.Sources[i]
		dst = appendString(dst, ds.Name)
		dst = append(dst, byte(ds.Kind))
		dst = binary.AppendVarint(dst, ds.Heartbeat)
		dst = appendFloat(dst, ds.Min)
		dst = appendFloat(dst, ds.Max)
		dst = appendString(dst, ds.Expr)
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Archives)))
	for i := range d.Archives {
		a := &d.Archives[i]
		dst = append(dst, byte(a.CF))
		dst = appendFloat(dst, a.XFF)
		dst = binary.AppendVarint(dst, a.PDPs)
		dst = binary.AppendVarint(dst, a.Rows)
		for _, f := range []float64{a.Alpha, a.Beta, a.Gamma, a.SmoothingWindow, a.DeltaPos, a.DeltaNeg} {
			dst = appendFloat(dst, f)
		}
		dst = binary.AppendVarint(dst, int64(a.Partner))
		dst = binary.AppendVarint(dst, int64(a.Threshold))
		dst = binary.AppendVarint(dst, int64(a.Window))
		if version == definitionFlags {
			var flags byte
			if a.Own {
				flags |= archiveOwn
			}
			dst = append(dst, flags)
		}
	}
	return dst
}

func appendFloat(dst []byte, f float64) []byte {
	if f != f {
		f = math.NaN() // one NaN, so that equal definitions have equal codes
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

func (r *reader) float() float64 { return math.Float64frombits(r.uint64()) }

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// decodeDefinition is the inverse of appendDefinition.
func decodeDefinition(b []byte) (*rra.Definition, error) {
	r := reader{b: b}
	version := r.byte()
	if version != definitionPlain && version != definitionFlags {
		return nil, fmt.Errorf("definition of version %d: %w", version, ErrVersion)
	}
	d := &rra.Definition{Step: r.varint()}
	n := r.uvarint()
	for i := uint64(0); i < n && r.err == nil; i++ {
		d.Sources = append(d.Sources, rra.DataSource{
			Name: r.string(), Kind: rra.Kind(r.byte()), Heartbeat: r.varint(),
			Min: r.float(), Max: r.float(), Expr: r.string(),
		})
	}
	n = r.uvarint()
	for i := uint64(0); i < n && r.err == nil; i++ {
		a := rra.Archive{
			CF: rra.CF(r.byte()), XFF: r.float(), PDPs: r.varint(), Rows: r.varint(),
			Alpha: r.float(), Beta: r.float(), Gamma: r.float(), SmoothingWindow: r.float(),
			DeltaPos: r.float(), DeltaNeg: r.float(),
			Partner: int(r.varint()), Threshold: int(r.varint()), Window: int(r.varint()),
		}
		if version == definitionFlags {
			a.Own = r.byte()&archiveOwn != 0
		}
		d.Archives = append(d.Archives, a)
	}
	if r.err != nil || len(r.b) != 0 {
		return nil, fmt.Errorf("definition of %d bytes: %w", len(b), errRecord)
	}
	return d, nil
}
