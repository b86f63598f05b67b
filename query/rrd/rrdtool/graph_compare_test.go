package rrdtool_test

import (
	"image"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A pictureColor is the colour of an element.
type pictureColor struct {
	color.NRGBA
	dashed bool // upright, a dash may end elsewhere
	soft   bool // edges are half covered
}

// dashLength is how long the longest dash is with the gap behind it, zoomed.
const dashLength = 45

// compareHeights compares where a colour is seen in every column of the graph. Half-covered pixels
// are seen in one picture and not in the other, so that a column may differ by one where its
// neighbours say so.
func compareHeights(t *testing.T, a, b *picture, c pictureColor) {
	t.Helper()
	for x := a.left + 1; x < a.left+a.width-1; x++ {
		from, to := a.span(x, c.NRGBA, seen)
		beside, off := 0, 1
		if c.dashed {
			beside, off = 1, dashLength
		} else if c.soft {
			beside = 1
		}
		alike := false
		for k := x - beside; k <= x+beside; k++ {
			for _, seen := range []int{seen, seenClosely, seenLoosely} {
				from2, to2 := b.span(k, c.NRGBA, seen)
				alike = alike || a.near(b, k, from, from2, off) && a.near(b, k, to, to2, off) ||
					from < 0 && to2-from2 <= 1 || from2 < 0 && to-from <= 1 // a thin line between two rows
				if alike {
					break
				}
			}
		}
		if !alike {
			from2, to2 := b.span(x, c.NRGBA, seen)
			t.Errorf("column %d of colour %v: %d to %d in rrdtool's, %d to %d in rondo's", x-a.left, c, from, to, from2, to2)
			return
		}
	}
}

// near reports whether two ends of a colour in the column x of p and of q are at most off rows
// apart. Rows between them that look the same in both pictures do not count: another element covers
// them. So do those where a dashed line covers one of the pictures: a dash may end elsewhere.
func (p *picture) near(q *picture, x, y1, y2, off int) bool {
	apart := 0
	for y := min(y1, y2) + 1; y <= max(y1, y2); y++ {
		if y < max(y1, y2) && y1 >= 0 && y2 >= 0 && (p.At(x, y) == q.At(x, y) || p.dashed(x, y) || q.dashed(x, y)) {
			continue
		}
		apart++
	}
	return apart <= off
}

// dashed reports whether a dashed line is seen at a pixel or beside it.
func (p *picture) dashed(x, y int) bool {
	for _, c := range p.dashes {
		for k := x - 1; k <= x+1; k++ {
			if p.differs(k, y, c) <= seenLoosely {
				return true
			}
		}
	}
	return false
}

// compareTexts compares where the labels of both axes stand. The labels of the y axis are left out
// unless rrdtool's are defined.
func compareTexts(t *testing.T, a, b *picture, defined bool) {
	t.Helper()
	rows := func(p *picture) []uint8 {
		return p.ink(image.Rect(max(p.left-40, 18), p.top-8, p.left-5, p.top+p.height+5), false)
	}
	columns := func(p *picture) []uint8 {
		return p.ink(image.Rect(0, p.top+p.height+5, p.left+p.width+10, p.top+p.height+12), true)
	}
	if defined {
		compareInk(t, "labels of the y axis", rows(a), rows(b), 1)
	}
	compareInk(t, "labels of the x axis", columns(a), columns(b), 2)
}

// labelsDefined reports whether the labels of the y axis are defined. rrdtool counts its lines in 32
// bits, from zero on: what it draws of others depends on the processor. With -y and -Y it uses a
// format that nothing has set. More than 4,096 labels are not drawn here.
func labelsDefined(args []string, stdout string) bool {
	step, err := 0.0, error(nil)
	for i, arg := range args {
		if arg == "-y" {
			number, _, _ := strings.Cut(args[i+1], ":")
			step, err = strconv.ParseFloat(number, 64)
		}
	}
	if step > 0 && slices.Contains(args, "-Y") {
		return false
	}
	for _, m := range regexp.MustCompile(`value_m(?:in|ax) = (\S+)`).FindAllStringSubmatch(stdout, -1) {
		v, _ := strconv.ParseFloat(m[1], 64)
		if err == nil && step > 0 && math.Abs(v/step) > 4000 {
			return false
		}
	}
	return true
}

// Ink is from 0, black, to 255. What is dark in one picture may be half covered in the other:
// letters are not shaped alike to the pixel.
const (
	dark = 150
	gray = 225
)

// compareInk wants to see something in both pictures at the same places, or some pixels beside. What
// is seen at the ends may go on behind them.
func compareInk(t *testing.T, what string, a, b []uint8, beside int) {
	t.Helper()
	for _, p := range [][2][]uint8{{a, b}, {b, a}} {
		for i, v := range p[0] {
			found := v >= dark || i < beside || i >= len(p[0])-beside
			for _, w := range p[1][max(0, i-beside):min(len(p[1]), i+beside+1)] {
				found = found || w < gray
			}
			if !found {
				t.Errorf("%s: place %d is dark in one picture only\nrrdtool %s\nrondo   %s", what, i, inkShown(a), inkShown(b))
				return
			}
		}
	}
}

func inkShown(ink []uint8) string {
	var b strings.Builder
	for _, v := range ink {
		switch {
		case v < dark:
			b.WriteByte('#')
		case v < gray:
			b.WriteByte('+')
		default:
			b.WriteByte('.')
		}
	}
	return b.String()
}

// ink is the darkest pixel of each row, or column, of a region.
func (p *picture) ink(r image.Rectangle, columns bool) []uint8 {
	r = r.Intersect(p.Bounds())
	ink := make([]uint8, r.Dy())
	if columns {
		ink = make([]uint8, r.Dx())
	}
	for i := range ink {
		ink[i] = 255
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			i := y - r.Min.Y
			if columns {
				i = x - r.Min.X
			}
			ink[i] = min(ink[i], color.GrayModel.Convert(p.At(x, y)).(color.Gray).Y)
		}
	}
	return ink
}
