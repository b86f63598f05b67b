package graph

import (
	"fmt"
	"math"
	"strings"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
)

// elements draws lines, areas and ticks, in the order in which they were given.
func (p *painter) elements() {
	var below []float64 // what the last line or area draws
	for i, m := range p.graph.marks {
		values := p.graph.columns[i]
		if values == nil {
			continue
		}
		p.group(fmt.Sprintf("element-%d", i), p.title(i), func() { p.element(m, values, below) })
		if m.Kind != graphdata.TICK {
			p.fill(m.Drawing, values, below)
			below = values
		}
	}
}

// title is the legend of an element without its marker.
func (p *painter) title(i int) string {
	it := item{legend: p.graph.marks[i].Text}
	if it.cutMarker() != nil {
		return ""
	}
	return strings.TrimSpace(it.legend)
}

// element draws one element.
func (p *painter) element(m graphdata.Mark, values, below []float64) {
	d := m.Drawing
	if len(d.Colors) == 0 || d.Colors[0].A == 0 && len(d.Colors) < 2 {
		return
	}
	if !d.Stack {
		below = nil
	}
	switch {
	case m.Kind == graphdata.TICK:
		p.ticks(d, values)
	case m.Kind == graphdata.LINE:
		p.polyline(d, values)
	case len(d.Colors) > 1:
		p.gradient(d, values, below)
	default:
		p.area(d, values, below)
	}
}

// base is where areas begin: the zero line, or the limit that is nearest to it.
func (p *painter) base() float64 {
	switch {
	case p.Min > 0:
		return p.Min
	case p.Max < 0:
		return p.Max
	}
	return 0
}

// fill gives the unknown columns of an element the values that the next one is stacked on.
func (p *painter) fill(d *graphdata.Drawing, values, below []float64) {
	base := p.base()
	for i, v := range values {
		if v == v {
			continue
		}
		values[i] = base
		if d.Stack && below != nil {
			values[i] = below[i]
		}
	}
}

// far is how far beyond the limits values are drawn, in lengths of the axis.
const far = 9

// valueAt is the place of a value. Infinity stands at the limit, and nothing stands farther away
// than far says.
func (p *painter) valueAt(v float64) float64 {
	height := float64(p.Height)
	switch {
	case math.IsInf(v, 1):
		return p.Top
	case math.IsInf(v, -1):
		return p.bottom()
	}
	return min(max(p.y(v), p.Top-far*height), p.bottom()+far*height)
}

func (p *painter) ticks(d *graphdata.Drawing, values []float64) {
	s := canvas.Stroke{Width: 1, Color: d.Colors[0]}
	from, to := p.bottom()+1, p.bottom()-d.Fraction*float64(p.Height)
	if d.Fraction < 0 {
		from, to = p.Top-1, p.Top-d.Fraction*float64(p.Height)
	}
	for i, v := range values {
		if v < 0 || v > 0 {
			p.line(p.Left+float64(i), from, p.Left+float64(i), to, s)
		}
	}
}

// polyline draws a line: a step a column, or from point to point.
func (p *painter) polyline(d *graphdata.Drawing, values []float64) {
	s := canvas.Stroke{Width: d.Width, Color: d.Colors[0], Dash: d.Dashes, DashOffset: d.Offset, Cap: canvas.RoundCap, Join: canvas.RoundJoin}
	var path []canvas.Point
	end := func() {
		if len(path) > 1 {
			p.c.Stroke(s, path)
		}
		path = nil
	}
	for i := 1; i < len(values); i++ {
		v := values[i]
		if v != v || p.o.Slope && values[i-1] != values[i-1] {
			end()
			continue
		}
		y := p.valueAt(v)
		x := p.Left + float64(i)
		if p.o.Slope {
			if path == nil {
				path = append(path, p.point(x-1, p.valueAt(values[i-1]), d.Width))
			}
			path = append(path, p.point(x, y, d.Width))
			continue
		}
		if n := len(path); n > 1 && v == values[i-1] {
			path[n-1] = p.point(x, y, d.Width)
			continue
		}
		path = append(path, p.point(x-1, y, d.Width), p.point(x, y, d.Width))
	}
	end()
}

// A strip is a part of an area between two columns: from a place above to one below.
type strip struct {
	x           float64
	top, bottom float64
	value, base float64 // where the value and the base are: top and bottom, or the other way round
}

// overlap is how much larger an area is above and below, in pixels, so that nothing shows between
// two that meet.
const overlap = 0.2

// strips calls draw with every run of columns that has an area. A strip ends at its x.
func (p *painter) strips(values, below []float64, draw func(run []strip)) {
	first := 1
	if p.o.Slope {
		first = 0
	}
	base := p.base()
	var run []strip
	end := func() {
		if len(run) > 0 {
			draw(run)
		}
		run = nil
	}
	for i := first; i < len(values); i++ {
		v, b := values[i], base
		if below != nil {
			b = below[i]
		}
		top, bottom := p.valueAt(v), p.valueAt(b)
		s := strip{x: p.Left + float64(i), value: top, base: bottom}
		if v != v || b != b || top == bottom {
			end()
			continue
		}
		if top > bottom {
			top, bottom = bottom, top
		}
		s.top, s.bottom = top-overlap, bottom+overlap
		run = append(run, s)
	}
	end()
}

// area draws an area of one colour.
func (p *painter) area(d *graphdata.Drawing, values, below []float64) {
	p.strips(values, below, func(run []strip) {
		var path []canvas.Point
		for i, s := range run {
			if !p.o.Slope {
				if i == 0 || s.top != run[i-1].top {
					path = append(path, p.corner(s.x-1, s.top))
				}
				if i+1 < len(run) && run[i+1].top == s.top {
					continue
				}
			}
			path = append(path, p.corner(s.x, s.top))
		}
		for i := len(run) - 1; i >= 0; i-- {
			s := run[i]
			if p.o.Slope || i == len(run)-1 || s.bottom != run[i+1].bottom {
				path = append(path, p.corner(s.x, s.bottom))
			}
			if !p.o.Slope && (i == 0 || run[i-1].bottom != s.bottom) {
				path = append(path, p.corner(s.x-1, s.bottom))
			}
		}
		if len(path) > 2 {
			p.c.Fill(d.Colors[0], path)
		}
	})
}

// gradient draws an area whose colour changes with the height. As in rrdtool it begins a column
// later than one of a single colour.
func (p *painter) gradient(d *graphdata.Drawing, values, below []float64) {
	p.strips(values, below, func(run []strip) {
		if !p.o.Slope {
			run = run[1:]
		}
		for i := 0; i < len(run); {
			s := run[i]
			k := i + 1
			for !p.o.Slope && k < len(run) && run[k].value == s.value && run[k].base == s.base {
				k++
			}
			path := p.box(s.x-1, s.top, run[k-1].x, s.bottom)
			value := s.value
			if p.o.Slope {
				if i == 0 {
					i = k
					continue
				}
				last := run[i-1]
				path = []canvas.Point{p.corner(last.x, last.top), p.corner(s.x, s.top), p.corner(s.x, s.bottom), p.corner(last.x, last.bottom)}
				value = (s.value + last.value) / 2
			}
			p.gradientBetween(d, path, value, s.base)
			i = k
		}
	})
}

// gradientBetween fills a part of an area between a value and its base.
func (p *painter) gradientBetween(d *graphdata.Drawing, path []canvas.Point, value, base float64) {
	first, second := d.Colors[0], d.Colors[1]
	switch h := d.GradHeight; {
	case h > 0:
		p.c.Gradient(path, value, first, value+h, second)
	case h == 0:
		p.c.Gradient(path, value, first, base, second)
	default:
		p.c.Gradient(path, base+h, first, base, second)
	}
}
