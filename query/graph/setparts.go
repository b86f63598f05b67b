package graph

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// atoi reads the integer that a text begins with, as C's atoi does: 0 without one. What does not
// fit is the greatest or least int32.
func atoi(text string) int {
	n, _, _ := numeral.Scan(text, 10)
	return int(min(max(n, math.MinInt32), math.MaxInt32))
}

// word takes up to n leading characters of a set from a text.
func word(text, set string, n int) (taken, rest string) {
	i := min(n, len(text)-len(strings.TrimLeft(text, set)))
	return text[:i], text[i:]
}

const (
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	maxTag   = 10 // letters
	numerals = "0123456789.e+-"
	hex      = "0123456789abcdefABCDEF"
)

// setXGrid reads UNIT:COUNT:UNIT:COUNT:UNIT:COUNT:SPAN:FORMAT, or none.
func (o *Options) setXGrid(arg string) error {
	if arg == "none" {
		o.NoXGrid = true
		return nil
	}
	wrong := errors.New("invalid x-grid format")
	var g XGrid
	rest := arg
	for _, every := range []*Every{&g.Grid, &g.Major, &g.Label} {
		var name string
		if name, rest = word(rest, capitals, maxTag); name == "" || !strings.HasPrefix(rest, ":") {
			return wrong
		}
		n, used, _ := numeral.Scan(rest[1:], 10)
		if rest = rest[1+used:]; used == 0 || !strings.HasPrefix(rest, ":") {
			return wrong
		}
		rest = rest[1:]
		var ok bool
		if every.Unit, ok = unitNames[name]; !ok {
			return fmt.Errorf("unknown keyword %s", name)
		}
		if n < 1 || n > math.MaxInt32 { // rrdtool never comes back
			return wrong
		}
		every.Count = int(n)
	}
	span, used, _ := numeral.Scan(rest, 10)
	if rest = rest[used:]; used == 0 || !strings.HasPrefix(rest, ":") {
		return wrong
	}
	g.Span, g.Format = min(max(span, -maxSpan), maxSpan), cut(rest[1:], maxText)
	o.XGrid = &g
	return nil
}

// setYGrid reads STEP:FACTOR, or none.
func (o *Options) setYGrid(arg string) error {
	if arg == "none" {
		o.NoYGrid = true
		return nil
	}
	number, rest := word(arg, numerals, 40)
	rest, colon := strings.CutPrefix(rest, ":")
	factor, used, _ := numeral.Scan(rest, 10)
	if number == "" || !colon || used == 0 {
		return errors.New("invalid y-grid format")
	}
	step, err := rra.ParseNumber(number)
	switch {
	case err != nil:
		return fmt.Errorf("option -y - %w", err)
	case step <= 0:
		return errors.New("grid step must be > 0")
	case factor < 1:
		return errors.New("label factor must be > 0")
	}
	o.YStep, o.YFactor = step, int(min(factor, math.MaxInt32))
	return nil
}

// setColor reads PART#RRGGBB.
func (o *Options) setColor(arg string) error {
	name, rest := word(arg, capitals, maxTag)
	if name == "" || !strings.HasPrefix(rest, "#") {
		return errors.New("invalid color def format")
	}
	digits, _ := word(rest[1:], hex, 8)
	if digits == "" {
		return errors.New("invalid color def format")
	}
	c, ok := graphdata.ParseColor(digits)
	if !ok {
		return errors.New("the color format is #RRGGBB[AA]")
	}
	i := slices.Index(partNames[:], name)
	if i < 0 {
		return fmt.Errorf("invalid color name '%s'", name)
	}
	o.Colors[i] = c
	return nil
}

// setFont reads TAG:SIZE[:FAMILY]. Words for bold and italic may stand behind the family.
func (o *Options) setFont(arg string) error {
	name, rest := word(arg, capitals, maxTag)
	if name == "" || !strings.HasPrefix(rest, ":") {
		return errors.New("invalid text property format")
	}
	size, n := rpn.ScanNumber(rest[1:])
	if n == 0 {
		return errors.New("invalid text property format")
	}
	i := slices.Index(tagNames[:], name)
	if i < 0 {
		return fmt.Errorf("invalid fonttag '%s'", name)
	}
	family, named := strings.CutPrefix(rest[1+n:], ":")
	for k := range o.Fonts {
		if k != i && Tag(i) != Default {
			continue
		}
		if size > 0 {
			o.Fonts[k].Size = min(size, maxFont)
		}
		if named && family != "" {
			f, r := &o.Fonts[k], canvas.Run{}
			f.Family = fontDescription(&r, cut(family, 128))
			f.Bold, f.Italic = r.Bold, r.Italic
		}
	}
	return nil
}

// setRightAxis reads SCALE:SHIFT.
func (o *Options) setRightAxis(arg string) error {
	wrong := errors.New("invalid right-axis format expected scale:shift")
	first, rest := word(arg, numerals, 40)
	if first == "" || !strings.HasPrefix(rest, ":") {
		return wrong
	}
	second, _ := word(rest[1:], numerals, 40)
	scale, err := rra.ParseNumber(first)
	if err != nil {
		return wrong
	}
	shift, err := rra.ParseNumber(second)
	if err != nil {
		return wrong
	}
	if scale == 0 {
		return errors.New("the second_axis_scale  must not be 0")
	}
	o.HasRight, o.RightScale, o.RightBase = true, scale, shift
	return nil
}

// setGridDash reads ON:OFF.
func (o *Options) setGridDash(arg string) error {
	on, n := rpn.ScanNumber(arg)
	if n == 0 || !strings.HasPrefix(arg[n:], ":") {
		return errors.New("invalid grid-dash format")
	}
	off, k := rpn.ScanNumber(arg[n+1:])
	if k == 0 || !(on >= 0 && off >= 0) { // with less than nothing drawn rrdtool's library fails
		return errors.New("invalid grid-dash format")
	}
	o.GridDash = [2]float64{on, off}
	return nil
}

// imageInfoParts splits a format with one %s and two %lu into the texts around these; nil if it is
// another.
func imageInfoParts(format string) []string {
	var part strings.Builder
	var parts []string
	for rest := format; rest != ""; {
		verb := "%s"
		if len(parts) > 0 {
			verb = "%lu"
		}
		switch {
		case rest[0] != '%':
			part.WriteByte(rest[0])
			rest = rest[1:]
		case strings.HasPrefix(rest, "%%"):
			part.WriteByte('%')
			rest = rest[2:]
		case len(parts) < 3 && strings.HasPrefix(rest, verb):
			parts = append(parts, part.String())
			part.Reset()
			rest = rest[len(verb):]
		default:
			return nil
		}
	}
	if len(parts) != 3 {
		return nil
	}
	return append(parts, part.String())
}

// ImageInfo prints a name and a size in the format of --imginfo.
func ImageInfo(format, name string, width, height int) string {
	parts := imageInfoParts(format)
	if parts == nil {
		return ""
	}
	return parts[0] + name + parts[1] + strconv.Itoa(width) + parts[2] + strconv.Itoa(height) + parts[3]
}
