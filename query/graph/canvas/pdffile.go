package canvas

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A pdfFile is numbered objects, some of them not yet written.
type pdfFile struct {
	b       []byte
	offsets []int // of object n+1
}

// reserve returns the number of an object that is written later.
func (f *pdfFile) reserve() int {
	f.offsets = append(f.offsets, 0)
	return len(f.offsets)
}

// write writes an object that has a number.
func (f *pdfFile) write(n int, body string) {
	f.offsets[n-1] = len(f.b)
	f.b = fmt.Appendf(f.b, "%d 0 obj\n%s\nendobj\n", n, body)
}

func (f *pdfFile) object(body string) (n int) {
	n = f.reserve()
	f.write(n, body)
	return n
}

// stream writes an object of data, compressed, with further entries of its dictionary.
func (f *pdfFile) stream(entries string, data []byte) (n int, err error) {
	e := newEncoder()
	defer e.keep()
	packed, err := e.compressed(data)
	if err != nil {
		return 0, err
	}
	return f.object(fmt.Sprintf("<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", entries, len(packed), packed)), nil
}

// end writes the table of objects.
func (f *pdfFile) end(root, info int) {
	at := len(f.b)
	f.b = fmt.Appendf(f.b, "xref\n0 %d\n0000000000 65535 f \n", len(f.offsets)+1)
	for _, o := range f.offsets {
		f.b = fmt.Appendf(f.b, "%010d 00000 n \n", o)
	}
	f.b = fmt.Appendf(f.b, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(f.offsets)+1, root, info, at)
}

// Encode writes the file: a page, of the size in points that it has in pixels after zoom.
func (p *pdf) Encode(w io.Writer) error {
	f := &pdfFile{b: []byte("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")}
	fonts, err := p.writeFonts(f)
	if err != nil {
		return err
	}
	states, err := p.writeStates(f)
	if err != nil {
		return err
	}
	var shades strings.Builder
	for i, s := range p.shades {
		fmt.Fprintf(&shades, "/S%d %d 0 R ", i, f.object(s))
	}
	content, err := f.stream("", p.b)
	if err != nil {
		return err
	}
	pages := f.reserve()
	page := f.object(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [ 0 0 %s] /Contents %d 0 R /Group << /S /Transparency /CS /DeviceRGB >> /Resources << /Font << %s>> /ExtGState << %s>> /Shading << %s>> >> >>",
		pages, appendNumbers(nil, p.width*p.zoom, p.height*p.zoom), content, fonts, states, shades.String()))
	f.write(pages, fmt.Sprintf("<< /Type /Pages /Count 1 /Kids [ %d 0 R ] >>", page))
	root := f.object(fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R >>", pages))
	info := "<< /Producer (rondo) >>"
	if p.title != "" {
		info = "<< /Producer (rondo) /Title <FEFF" + utf16Hex(shown(p.title)) + "> >>"
	}
	f.end(root, f.object(info))
	_, err = w.Write(f.b)
	return err
}

// writeStates writes what sets alpha: numbers, and gradients of it.
func (p *pdf) writeStates(f *pdfFile) (resources string, err error) {
	for _, a := range slices.Sorted(maps.Keys(p.alphas)) {
		v := appendNumbers(nil, float64(a)/255)
		resources += fmt.Sprintf("/A%d << /ca %s/CA %s>> ", a, v, v)
	}
	for i, m := range p.masks {
		if m == "" {
			continue
		}
		form, err := f.stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [ 0 0 %s] /Group << /S /Transparency /CS /DeviceGray >> /Resources << /Shading << /S %s >> >>",
			appendNumbers(nil, p.width, p.height), m), []byte("/S sh\n"))
		if err != nil {
			return "", err
		}
		resources += fmt.Sprintf("/M%d << /SMask << /S /Luminosity /G %d 0 R >> >> ", i, form)
	}
	return resources, nil
}

// writeFonts writes the glyphs that are used.
func (p *pdf) writeFonts(f *pdfFile) (resources string, err error) {
	for i := range p.subsets {
		s := &p.subsets[i]
		if len(s.chars) == 0 {
			continue
		}
		face := faces[i]()
		data := s.font(face)
		file, err := f.stream(fmt.Sprintf("/Length1 %d", len(data)), data)
		if err != nil {
			return "", err
		}
		unicode, err := f.stream("", s.toUnicode())
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("RONDO%c+%s", 'A'+i, face.name)
		thousand := func(units int) float64 { return float64(units) * 1000 / unitsPerEm }
		box := face.Box()
		widths := []float64{thousand(face.Advance(0))}
		for _, c := range s.chars {
			widths = append(widths, thousand(face.Advance(face.Glyph(c))))
		}
		descriptor := f.object(fmt.Sprintf("<< /Type /FontDescriptor /FontName /%s /Flags %d /ItalicAngle 0 /FontBBox [ %s] /Ascent %s/Descent %s/CapHeight 729 /StemV %d /FontFile2 %d 0 R >>",
			name, 5-i>>1, appendNumbers(nil, thousand(box[0]), thousand(box[1]), thousand(box[2]), thousand(box[3])),
			appendNumbers(nil, thousand(unitAscent)), appendNumbers(nil, -thousand(unitDescent)), 90+60*(i&1), file))
		cid := f.object(fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor %d 0 R /W [ 0 [ %s] ] /CIDToGIDMap /Identity >>",
			name, descriptor, appendNumbers(nil, widths...)))
		font := f.object(fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [ %d 0 R ] /ToUnicode %d 0 R >>", name, cid, unicode))
		resources += fmt.Sprintf("/F%d %d 0 R ", i, font)
	}
	return resources, nil
}
