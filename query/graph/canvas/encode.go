package canvas

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/zlib"
)

// noFilter is the filter of all rows: graphs are flat, and repeat themselves from row to row, so
// that filters make them larger.
const noFilter = 0

// The colour types of PNG.
const (
	pngRGB     = 2
	pngPalette = 3
	pngRGBA    = 6
)

// An encoder is the memory that packing a picture takes, more than a megabyte.
type encoder struct {
	zlib *zlib.Writer
	rows []byte // as PNG has them, each behind the number of its filter
	out  bytes.Buffer
}

// encoders are kept for the next pictures, even if garbage is collected in between: a sync.Pool is
// empty after two collections, and pictures make enough garbage for that.
var encoders = make(chan *encoder, 2)

func newEncoder() *encoder {
	select {
	case e := <-encoders:
		return e
	default:
		z, err := zlib.NewWriterLevel(nil, zlibLevel)
		if err != nil {
			panic("canvas: " + err.Error()) // there is such a level
		}
		return &encoder{zlib: z}
	}
}

// maxKept is how many bytes an encoder or a raster may have that is kept.
const maxKept = 4 << 20

// putBack keeps a tool of some bytes, unless it is large or enough are kept.
func putBack[T any](tools chan T, tool T, size int) {
	if size <= maxKept {
		select {
		case tools <- tool:
		default:
		}
	}
}

func (e *encoder) keep() { putBack(encoders, e, cap(e.rows)+e.out.Cap()) }

// encode writes the pixels as PNG: with a palette if there are at most 256 colours, else as red,
// green and blue, with alpha if a pixel is transparent.
func (r *raster) encode(w io.Writer) error {
	e := newEncoder()
	defer e.keep()
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	kind := byte(pngPalette)
	palette := e.palette(r)
	if palette == nil {
		kind = e.trueColour(r)
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
	data, err := e.compressed(e.rows)
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

// palette fills the rows with the number of the colour of each pixel and returns the colours; or
// nil if there are too many.
func (e *encoder) palette(r *raster) (colours []pixel) {
	const size = 1024 // of a table of colours, by hash
	var table [size]struct {
		colour uint32
		index  uint16 // from 1 on
	}
	width := r.size.Dx()
	rows, pix := slices.Grow(e.rows[:0], (width+1)*r.size.Dy()), r.pix
	for range r.size.Dy() {
		rows = append(rows, noFilter)
		for x := 0; x < width; {
			c := binary.LittleEndian.Uint32(pix[4*x:])
			h := c * 0x9e3779b1 >> 22
			for table[h].index != 0 && table[h].colour != c {
				h = (h + 1) % size
			}
			if table[h].index == 0 {
				if len(colours) == 256 {
					return nil
				}
				colours = append(colours, pixel{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
				table[h].colour, table[h].index = c, uint16(len(colours))
			}
			index, two := byte(table[h].index-1), uint64(c)<<32|uint64(c)
			rows = append(rows, index)
			for x++; x+2 <= width && binary.LittleEndian.Uint64(pix[4*x:]) == two; x += 2 {
				rows = append(rows, index, index)
			}
		}
		pix = pix[4*width:]
	}
	e.rows = rows
	return colours
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

// trueColour fills the rows with the pixels.
func (e *encoder) trueColour(r *raster) (kind byte) {
	kind = pngRGB
	for i := 3; i < len(r.pix) && kind == pngRGB; i += 4 {
		if r.pix[i] < 255 {
			kind = pngRGBA
		}
	}
	rows, width := slices.Grow(e.rows[:0], len(r.pix)+r.size.Dy()), 4*r.size.Dx()
	for pix := r.pix; len(pix) > 0; pix = pix[width:] {
		rows = append(rows, noFilter)
		for x := 0; x < width; x += 4 {
			p := pix[x : x+4 : x+4]
			if kind == pngRGB {
				rows = append(rows, p[0], p[1], p[2])
				continue
			}
			c := pixel{p[0], p[1], p[2], p[3]}.straight()
			rows = append(rows, c.R, c.G, c.B, c.A)
		}
	}
	e.rows = rows
	return kind
}

// zlibLevel makes files four fifths as large as the fastest level, in less than a millisecond for a
// usual graph. The next level takes a third longer, and saves a hundredth.
const zlibLevel = 5

// compressed returns data packed by zlib, valid until e is used again.
func (e *encoder) compressed(data []byte) ([]byte, error) {
	e.out.Reset()
	e.zlib.Reset(&e.out)
	if _, err := e.zlib.Write(data); err != nil {
		return nil, err
	}
	err := e.zlib.Close()
	return e.out.Bytes(), err
}
