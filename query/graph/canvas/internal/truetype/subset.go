package truetype

import (
	"maps"
	"slices"
)

// Subset returns a font of the given glyphs, without instructions for hinting: glyph 0 and then ids
// in their order, then what they are composed of. The font gets the table cmap if there is one.
func (f *Font) Subset(ids []uint16, cmap []byte) []byte {
	all := append([]uint16{0}, ids...)
	number := map[uint16]uint16{}
	for i, id := range all {
		if _, ok := number[id]; !ok {
			number[id] = uint16(i)
		}
	}
	var glyf, loca, hmtx []byte
	for i := 0; i < len(all); i++ { // grows
		loca = be.AppendUint32(loca, uint32(len(glyf)))
		hmtx = be.AppendUint16(hmtx, f.advances[all[i]])
		hmtx = be.AppendUint16(hmtx, uint16(f.bearings[all[i]]))
		d := f.bare(all[i])
		if len(d) >= 10 && int16(be.Uint16(d)) < 0 {
			parts, _ := components(d)
			for _, p := range parts {
				if _, ok := number[p.glyph]; !ok {
					number[p.glyph] = uint16(len(all))
					all = append(all, p.glyph)
				}
				be.PutUint16(d[p.at:], number[p.glyph])
			}
		}
		glyf = append(glyf, d...)
	}
	loca = be.AppendUint32(loca, uint32(len(glyf)))

	head := slices.Clone(f.tables["head"][:54])
	be.PutUint32(head[8:], 0)  // the checksum, see assemble
	be.PutUint16(head[50:], 1) // loca has four bytes an entry
	hhea := slices.Clone(f.tables["hhea"][:36])
	be.PutUint16(hhea[34:], uint16(len(all)))
	maxp := slices.Clone(f.tables["maxp"])
	be.PutUint16(maxp[4:], uint16(len(all)))
	tables := map[string][]byte{"glyf": glyf, "loca": loca, "hmtx": hmtx, "head": head, "hhea": hhea, "maxp": maxp}
	if cmap != nil {
		tables["cmap"] = cmap
	}
	return assemble(tables)
}

// bare returns a copy of the description of a glyph without its instructions.
func (f *Font) bare(id uint16) []byte {
	d := f.data(id)
	if len(d) < 10 {
		return nil
	}
	var out []byte
	if int16(be.Uint16(d)) < 0 {
		parts, end := components(d)
		out = slices.Clone(d[:end])
		for _, p := range parts {
			be.PutUint16(out[p.at-2:], be.Uint16(out[p.at-2:])&^instructions)
		}
	} else {
		_, parts := simple(d)
		out = slices.Concat(parts[0], []byte{0, 0}, parts[1])
	}
	for len(out)%4 != 0 {
		out = append(out, 0)
	}
	return out
}

// searchRange returns the largest power of two up to n, and its logarithm.
func searchRange(n int) (span, log int) {
	for span = 1; 2*span <= n; span *= 2 {
		log++
	}
	return span, log
}

// assemble writes a font file of its tables.
func assemble(tables map[string][]byte) []byte {
	n := len(tables)
	span, log := searchRange(n)
	out := []byte{0, 1, 0, 0}
	for _, v := range []int{n, 16 * span, log, 16 * (n - span)} {
		out = be.AppendUint16(out, uint16(v))
	}
	at := 12 + 16*n
	names := slices.Sorted(maps.Keys(tables))
	for _, name := range names {
		t := tables[name]
		out = append(out, name...)
		out = be.AppendUint32(out, checksum(t))
		out = be.AppendUint32(out, uint32(at))
		out = be.AppendUint32(out, uint32(len(t)))
		at += (len(t) + 3) &^ 3
	}
	head := 0
	for _, name := range names {
		if name == "head" {
			head = len(out)
		}
		out = append(out, tables[name]...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	be.PutUint32(out[head+8:], 0xb1b0afba-checksum(out))
	return out
}

// checksum adds a table up, four bytes at a time.
func checksum(t []byte) (sum uint32) {
	for ; len(t) >= 4; t = t[4:] {
		sum += be.Uint32(t)
	}
	var last [4]byte
	copy(last[:], t)
	return sum + be.Uint32(last[:])
}
