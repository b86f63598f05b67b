package canvas

import "math"

// A piece is a part of a text whose glyphs look alike and follow each other.
type piece struct {
	glyph  // the first one
	text   string
	glyphs []glyph
	width  float64
}

// pieces cuts a text where its look changes, and at tabs.
func (l *line) pieces() (pieces []piece) {
	var last *piece
	for i, g := range l.glyphs {
		if g.tab {
			last = nil
			continue
		}
		if last == nil || g.face != last.face || g.italic != last.italic || g.size != last.size || g.color != last.color ||
			g.underl != last.underl || g.strik != last.strik {
			pieces = append(pieces, piece{glyph: g, glyphs: l.glyphs[i:i]})
			last = &pieces[len(pieces)-1]
		}
		last.glyphs = append(last.glyphs, g) // in place
		last.text += string(g.char)
		last.width += g.advance
	}
	return pieces
}

// usable returns the dashes of a line in a form that all formats take, or nil for a whole line.
func usable(k Stroke) (dash []float64, offset float64) {
	total := 0.0
	for _, d := range k.Dash {
		if !(d >= 0) {
			return nil, 0
		}
		total += d
	}
	if !(total > 1e-3) || total > farAway {
		return nil, 0
	}
	if offset = math.Mod(k.DashOffset, 2*total); math.IsNaN(offset) {
		offset = 0
	}
	if offset < 0 {
		offset += 2 * total
	}
	return k.Dash, offset
}
