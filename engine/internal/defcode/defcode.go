// Package defcode codes definitions of series, as the log and the database have them.
package defcode

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// The version that begins the code of a definition, and the flags of an archive, are part of the
// format. Version 2 has flags; it is used only where some are set, so that equal definitions have
// equal codes.
const (
	definitionPlain = 1
	definitionFlags = 2

	archiveOwn = 1
)

// Append codes d; equal definitions have equal codes.
func Append(dst []byte, d *rra.Definition) []byte {
	version := byte(definitionPlain)
	if slices.ContainsFunc(d.Archives, func(a rra.Archive) bool { return a.Own }) {
		version = definitionFlags
	}
	dst = append(dst, version)
	dst = binary.AppendVarint(dst, d.Step)
	dst = binary.AppendUvarint(dst, uint64(len(d.Sources)))
	for i := range d.Sources {
		ds := &d.Sources[i]
		dst = record.AppendText(dst, ds.Name)
		dst = append(dst, byte(ds.Kind))
		dst = binary.AppendVarint(dst, ds.Heartbeat)
		dst = record.AppendFloat(dst, ds.Min)
		dst = record.AppendFloat(dst, ds.Max)
		dst = record.AppendText(dst, ds.Expr)
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Archives)))
	for i := range d.Archives {
		a := &d.Archives[i]
		dst = append(dst, byte(a.CF))
		dst = record.AppendFloat(dst, a.XFF)
		dst = binary.AppendVarint(dst, a.PDPs)
		dst = binary.AppendVarint(dst, a.Rows)
		for _, f := range []float64{a.Alpha, a.Beta, a.Gamma, a.SmoothingWindow, a.DeltaPos, a.DeltaNeg} {
			dst = record.AppendFloat(dst, f)
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

// Decode is the inverse of Append. It does not check what the definition says.
func Decode(b []byte) (*rra.Definition, error) {
	r := record.Reader{Rest: b}
	version := r.Byte()
	if version != definitionPlain && version != definitionFlags {
		return nil, fmt.Errorf("definition of version %d: %w", version, record.OtherVersion(uint64(version), definitionFlags))
	}
	d := &rra.Definition{Step: r.Varint()}
	n := r.Uvarint()
	for i := uint64(0); i < n && r.Err == nil; i++ {
		d.Sources = append(d.Sources, rra.DataSource{
			Name: r.Text(), Kind: rra.Kind(r.Byte()), Heartbeat: r.Varint(),
			Min: r.Float(), Max: r.Float(), Expr: r.Text(),
		})
	}
	n = r.Uvarint()
	for i := uint64(0); i < n && r.Err == nil; i++ {
		a := rra.Archive{
			CF: rra.CF(r.Byte()), XFF: r.Float(), PDPs: r.Varint(), Rows: r.Varint(),
			Alpha: r.Float(), Beta: r.Float(), Gamma: r.Float(), SmoothingWindow: r.Float(),
			DeltaPos: r.Float(), DeltaNeg: r.Float(),
			Partner: int(r.Varint()), Threshold: int(r.Varint()), Window: int(r.Varint()),
		}
		if version == definitionFlags {
			a.Own = r.Byte()&archiveOwn != 0
		}
		d.Archives = append(d.Archives, a)
	}
	if r.Err != nil || len(r.Rest) != 0 {
		return nil, fmt.Errorf("definition of %d bytes: %w", len(b), record.ErrParse)
	}
	return d, nil
}
