package graph

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
)

// runs are the pieces of a text that look alike: one, unless markup is asked for.
func (o *Options) runs(text string) []canvas.Run {
	if !o.Markup || !strings.ContainsAny(text, "<&") {
		return canvas.Plain(text)
	}
	if runs, ok := markup(text); ok {
		return runs
	}
	return canvas.Plain(text)
}

// maxNesting bounds how deep tags may stand in each other.
const maxNesting = 64

// markup reads pango's markup: <b>, <i>, <u>, <s>, and <span> with weight, style, underline,
// strikethrough, size, font and color. Other tags and attributes are dropped. It is not ok if tags
// do not fit together.
func markup(text string) (runs []canvas.Run, ok bool) {
	d := xml.NewDecoder(strings.NewReader(text))
	style := []canvas.Run{{}}
	for {
		token, err := d.Token()
		switch t := token.(type) {
		case nil:
			if runs == nil {
				runs = canvas.Plain("")
			}
			return runs, errors.Is(err, io.EOF)
		case xml.CharData:
			r := style[len(style)-1]
			r.Text = string(t)
			runs = append(runs, r)
		case xml.StartElement:
			if len(style) > maxNesting {
				return nil, false
			}
			style = append(style, styled(style[len(style)-1], t))
		case xml.EndElement:
			style = style[:len(style)-1]
		}
	}
}

// styled is how text within a tag looks.
func styled(r canvas.Run, tag xml.StartElement) canvas.Run {
	switch tag.Name.Local {
	case "b":
		r.Bold = true
	case "i":
		r.Italic = true
	case "u":
		r.Underline = true
	case "s":
		r.Strike = true
	case "span":
		for _, a := range tag.Attr {
			setStyle(&r, a.Name.Local, a.Value)
		}
	}
	return r
}

// Sizes in words, in points.
var sizes = map[string]float64{
	"xx-small": 5.79, "x-small": 6.94, "small": 8.33, "medium": 10, "large": 12, "x-large": 14.4, "xx-large": 17.28,
}

// setStyle takes an attribute of <span>.
func setStyle(r *canvas.Run, name, value string) {
	switch name {
	case "weight", "font_weight":
		n := atoi(value)
		r.Bold = value == "bold" || value == "heavy" || value == "ultrabold" || n >= 600
	case "style", "font_style":
		r.Italic = value == "italic" || value == "oblique"
	case "underline":
		r.Underline = value != "none"
	case "strikethrough":
		r.Strike = value == "true"
	case "size", "font_size":
		if size, ok := sizes[value]; ok {
			r.Size = size
		} else if n, err := strconv.Atoi(value); err == nil && n > 0 { // in 1024ths of a point
			r.Size = min(float64(n)/1024, maxFont)
		}
	case "font", "font_desc", "face", "font_family":
		fontDescription(r, value)
	case "color", "foreground", "fgcolor":
		if c, ok := colorOf(value); ok {
			r.Color = &c
		}
	}
}

// fontDescription takes what is known of FAMILY STYLE SIZE, and returns the family.
func fontDescription(r *canvas.Run, text string) (family string) {
	for word := range strings.FieldsSeq(text) {
		switch word {
		case "Bold":
			r.Bold = true
		case "Italic", "Oblique":
			r.Italic = true
		default:
			if size, err := strconv.ParseFloat(word, 64); err == nil && size > 0 {
				r.Size = min(size, maxFont)
			} else {
				family = strings.TrimLeft(family+" "+word, " ")
			}
		}
	}
	return family
}

// names of colours that markup often has.
var colorNames = map[string]string{
	"black": "000000", "white": "ffffff", "red": "ff0000", "green": "00ff00", "blue": "0000ff", "yellow": "ffff00",
	"orange": "ffa500", "purple": "a020f0", "brown": "a52a2a", "gray": "bebebe", "grey": "bebebe", "cyan": "00ffff",
	"magenta": "ff00ff", "darkgreen": "006400", "darkblue": "00008b", "darkred": "8b0000", "navy": "000080", "pink": "ffc0cb",
}

func colorOf(text string) (color.NRGBA, bool) {
	if digits, ok := strings.CutPrefix(text, "#"); ok {
		return graphdata.ParseColor(digits)
	}
	return graphdata.ParseColor(colorNames[strings.ToLower(text)])
}
