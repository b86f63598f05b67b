package canvas

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// The colour types of PNG.
const (
	pngRGB     = 2
	pngPalette = 3
	pngRGBA    = 6
)

// Encode writes the pixels as PNG: with a palette if there are at most 256 colours, else as red,
// green and blue, with alpha if a pixel is transparent.
func (r *raster) Encode(w io.Writer) error {
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	palette, indexes := r.palette()
	kind, rows := byte(pngPalette), indexes
	stride := r.size.Dx()
	if palette == nil {
		kind, rows, stride = r.trueColour()
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(r.size.Dx()))
	header = binary.BigEndian.AppendUint32(header, uint32(r.size.Dy()))
	chunk(&out, "IHDR", append(header, 8, kind, 0, 0, 0))
	if palette != nil {
		colours, alphas := paletteChunks(palette)
		chunk(&out, "PLTE", colours)
		if alphas != nil {
			chunk(&out, "tRNS", alphas)
		}
	}
	data, err := compressed(rows, stride)
	if err != nil {
		return err
	}
	chunk(&out, "IDAT", data)
	chunk(&out, "IEND", nil)
	_, err = w.Write(out.Bytes())
	return err
}

// chunk writes a part of a PNG.
func chunk(out *bytes.Buffer, name string, data []byte) {
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), name...)
	out.Write(head)
	out.Write(data)
	sum := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, data)
	out.Write(binary.BigEndian.AppendUint32(nil, sum))
}

// palette returns the colours, and the number of the colour of each pixel; or nil if there are too
// many.
func (r *raster) palette() (colours []pixel, indexes []byte) {
	const size = 1024 // of a table of colours, by hash
	var table [size]struct {
		colour uint32
		index  uint16 // from 1 on
	}
	indexes = make([]byte, len(r.pix)/4)
	last, lastIndex := uint32(0), -1
	for i := range indexes {
		c := binary.LittleEndian.Uint32(r.pix[4*i:])
		if c != last || lastIndex < 0 {
			h := c * 0x9e3779b1 >> 22
			for table[h].index != 0 && table[h].colour != c {
				h = (h + 1) % size
			}
			if table[h].index == 0 {
				if len(colours) == 256 {
					return nil, nil
				}
				colours = append(colours, pixel{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
				table[h].colour, table[h].index = c, uint16(len(colours))
			}
			last, lastIndex = c, int(table[h].index)-1
		}
		indexes[i] = byte(lastIndex)
	}
	return colours, indexes
}

// straight returns a colour that is not multiplied by its alpha.
func (p pixel) straight() Color {
	if p.a == 0 {
		return Color{}
	}
	divide := func(v uint8) uint8 { return uint8(min(255, (uint32(v)*255+uint32(p.a)/2)/uint32(p.a))) }
	return Color{R: divide(p.r), G: divide(p.g), B: divide(p.b), A: p.a}
}

func paletteChunks(palette []pixel) (colours, alphas []byte) {
	opaque := true
	for _, p := range palette {
		c := p.straight()
		colours = append(colours, c.R, c.G, c.B)
		alphas = append(alphas, c.A)
		opaque = opaque && c.A == 255
	}
	if opaque {
		return colours, nil
	}
	return colours, alphas
}

// trueColour returns the pixels as PNG has them, and the bytes of a row.
func (r *raster) trueColour() (kind byte, rows []byte, stride int) {
	opaque := true
	for i := 3; i < len(r.pix) && opaque; i += 4 {
		opaque = r.pix[i] == 255
	}
	if !opaque {
		rows = make([]byte, len(r.pix))
		for i := 0; i < len(rows); i += 4 {
			c := pixel{r.pix[i], r.pix[i+1], r.pix[i+2], r.pix[i+3]}.straight()
			rows[i], rows[i+1], rows[i+2], rows[i+3] = c.R, c.G, c.B, c.A
		}
		return pngRGBA, rows, 4 * r.size.Dx()
	}
	rows = make([]byte, len(r.pix)/4*3)
	for i, j := 0, 0; i < len(r.pix); i, j = i+4, j+3 {
		rows[j], rows[j+1], rows[j+2] = r.pix[i], r.pix[i+1], r.pix[i+2]
	}
	return pngRGB, rows, 3 * r.size.Dx()
}

// zlibLevel makes files half as large as the fastest level, in a millisecond for a usual graph.
const zlibLevel = 6

// zlibs keeps writers for the next picture, because each takes a megabyte.
var zlibs = sync.Pool{New: func() any {
	z, err := zlib.NewWriterLevel(nil, zlibLevel)
	if err != nil {
		panic("canvas: " + err.Error()) // there is such a level
	}
	return z
}}

// compressed returns the rows, each behind the number of its filter: none. Graphs are flat, and
// repeat themselves from row to row, so that filters make them larger.
func compressed(rows []byte, stride int) ([]byte, error) {
	var out bytes.Buffer
	z := zlibs.Get().(*zlib.Writer)
	defer zlibs.Put(z)
	z.Reset(&out)
	line := make([]byte, 1+stride)
	for ; len(rows) > 0; rows = rows[stride:] {
		copy(line[1:], rows[:stride])
		if _, err := z.Write(line); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
