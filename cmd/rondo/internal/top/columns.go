package top

import (
	"strings"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/internal/quantity"
)

// columns is how the width of the screen is shared.
type columns struct {
	name, value, change, rate, age, spark int // cells; 0: the column is left out
	ascii                                 bool
}

// columns shares the width. A narrow screen has no sparklines, then no changes a second.
func (v *View) columns(width int) columns {
	c := columns{value: 12, change: 8, rate: 12, age: 6, spark: 16, ascii: v.ASCII}
	if width < 90 {
		c.spark = 8
	}
	if width >= 130 {
		c.spark = SparkRows
	}
	if width < 72 {
		c.spark = 0
	}
	if width < 60 {
		c.rate, c.value = 0, 9
	}
	if width < 38 {
		c.age = 0
	}
	c.name = width
	for _, w := range []int{c.value, c.change, c.rate, c.age, c.spark} {
		if w > 0 {
			c.name -= w + 2
		}
	}
	c.name = max(c.name, 8)
	return c
}

// A row is the texts of a line of the table.
type row struct{ name, value, change, rate, age, spark string }

func (c *columns) titles(m *Model) row {
	r := row{"NAME", "VALUE", "CHANGE", "PER SEC", "AGE", ""}
	arrow := "▼"
	if m.Reverse != (m.Sort == ByName) {
		arrow = "▲"
	}
	if c.ascii {
		arrow = "*"
	}
	switch m.Sort {
	case ByChange:
		r.change += arrow
	case ByRate:
		r.rate += arrow
	case ByValue:
		r.value += arrow
	case ByName:
		r.name += arrow
	case ByAge:
		r.age += arrow
	}
	return r
}

func (c *columns) line(l *Line, now time.Time, ascii bool) row {
	ellipsis := "…"
	if ascii {
		ellipsis = "~"
	}
	r := row{chart.Fit(l.Name, c.name, ellipsis), Number(l.Value, l.Unit), Percent(l.Change), Number(l.Rate, l.Unit), Age(l.LastUS, now), ""}
	if ascii {
		r.value, r.rate = keyboard.Replace(r.value), keyboard.Replace(r.rate)
	}
	if c.spark > 0 {
		recent := l.Recent
		if n := len(recent); n > c.spark {
			recent = recent[n-c.spark:]
		}
		r.spark = chart.Spark(recent, c.spark, ascii)
	}
	return r
}

// Number prints a value with its unit.
func Number(v float64, unit string) string { return quantity.Plain(quantity.Text(v, unit)) }

// keyboard replaces what units have beside ASCII.
var keyboard = strings.NewReplacer("µ", "u", "∞", "inf", "°", "")

// put writes a line of the table.
func (c *columns) put(g *chart.Grid, y int, r row, s chart.Style) {
	g.Put(0, y, r.name, s)
	x := c.name
	for _, f := range []struct {
		text  string
		width int
	}{{r.value, c.value}, {r.change, c.change}, {r.rate, c.rate}, {r.age, c.age}} {
		if f.width > 0 {
			x += 2 + f.width
			g.PutRight(x, y, f.text, s)
		}
	}
	if c.spark > 0 {
		g.Put(x+2, y, r.spark, s)
	}
}

// The colours of values that rise and fall, on dark and on light backgrounds.
const (
	rising  = 35 + 1
	falling = 161 + 1
)

// paint colours the change in a line.
func (c *columns) paint(g *chart.Grid, y int, up bool) {
	color := uint16(falling)
	if up {
		color = rising
	}
	for x := c.name + 2 + c.value + 2; x < c.name+4+c.value+c.change && x < g.Width; x++ {
		g.At(x, y).Style.Color = color
	}
}
