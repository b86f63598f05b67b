package graph

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/attime"
)

const (
	maxSpan = 1 << 40 // seconds

	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// A density is the grid for graphs of at least some seconds a pixel, and of a least length.
type density struct {
	perPixel float64
	length   int64
	grid     XGrid
}

// weekFormat stands for the format of --week-fmt.
const weekFormat = ""

var densities = []density{
	{0, 0, XGrid{Every{Second, 1}, Every{Second, 5}, Every{Second, 1}, 0, "%H:%M:%S"}},
	{0.015, 0, XGrid{Every{Second, 1}, Every{Second, 5}, Every{Second, 5}, 0, "%H:%M:%S"}},
	{0.08, 0, XGrid{Every{Second, 1}, Every{Second, 5}, Every{Second, 10}, 0, "%H:%M:%S"}},
	{0.15, 0, XGrid{Every{Second, 5}, Every{Second, 15}, Every{Second, 30}, 0, "%H:%M:%S"}},
	{0.4, 0, XGrid{Every{Second, 10}, Every{Minute, 1}, Every{Minute, 1}, 0, "%H:%M"}},
	{0.7, 0, XGrid{Every{Second, 20}, Every{Minute, 1}, Every{Minute, 1}, 0, "%H:%M"}},
	{1, 0, XGrid{Every{Second, 30}, Every{Minute, 1}, Every{Minute, 2}, 0, "%H:%M"}},
	{2, 0, XGrid{Every{Minute, 1}, Every{Minute, 5}, Every{Minute, 5}, 0, "%H:%M"}},
	{5, 0, XGrid{Every{Minute, 2}, Every{Minute, 10}, Every{Minute, 10}, 0, "%H:%M"}},
	{10, 0, XGrid{Every{Minute, 5}, Every{Minute, 20}, Every{Minute, 20}, 0, "%H:%M"}},
	{30, 0, XGrid{Every{Minute, 10}, Every{Minute, 30}, Every{Hour, 1}, 0, "%H:%M"}},
	{60, 0, XGrid{Every{Minute, 30}, Every{Hour, 1}, Every{Hour, 2}, 0, "%H:%M"}},
	{60, day, XGrid{Every{Minute, 30}, Every{Hour, 1}, Every{Hour, 3}, 0, "%a %H:%M"}},
	{140, 0, XGrid{Every{Hour, 1}, Every{Hour, 2}, Every{Hour, 4}, 0, "%a %H:%M"}},
	{180, 0, XGrid{Every{Hour, 1}, Every{Hour, 3}, Every{Hour, 6}, 0, "%a %H:%M"}},
	{300, 0, XGrid{Every{Hour, 2}, Every{Hour, 6}, Every{Hour, 12}, 0, "%a %H:%M"}},
	{600, 0, XGrid{Every{Hour, 6}, Every{Day, 1}, Every{Day, 1}, day, "%a %d %b"}},
	{1200, 0, XGrid{Every{Hour, 6}, Every{Day, 1}, Every{Day, 1}, day, "%d %b"}},
	{1800, 0, XGrid{Every{Hour, 12}, Every{Day, 1}, Every{Day, 2}, day, "%a %d %b"}},
	{2400, 0, XGrid{Every{Hour, 12}, Every{Day, 1}, Every{Day, 2}, day, "%d %b"}},
	{3600, 0, XGrid{Every{Day, 1}, Every{Week, 1}, Every{Week, 1}, 7 * day, weekFormat}},
	{12000, 0, XGrid{Every{Day, 1}, Every{Month, 1}, Every{Month, 1}, 30 * day, "%B %Y"}},
	{18000, 0, XGrid{Every{Day, 2}, Every{Month, 1}, Every{Month, 1}, 30 * day, "%B %Y"}},
	{23000, 0, XGrid{Every{Week, 1}, Every{Month, 1}, Every{Month, 1}, 30 * day, "%b %Y"}},
	{32000, 0, XGrid{Every{Week, 1}, Every{Month, 1}, Every{Month, 1}, 30 * day, "%b '%g"}},
	{42000, 0, XGrid{Every{Week, 1}, Every{Month, 1}, Every{Month, 2}, 30 * day, "%B %Y"}},
	{52000, 0, XGrid{Every{Week, 1}, Every{Month, 1}, Every{Month, 2}, 30 * day, "%b %Y"}},
	{78000, 0, XGrid{Every{Week, 1}, Every{Month, 1}, Every{Month, 2}, 30 * day, "%b '%g"}},
	{84000, 0, XGrid{Every{Week, 2}, Every{Month, 1}, Every{Month, 3}, 30 * day, "%B %Y"}},
	{94000, 0, XGrid{Every{Week, 2}, Every{Month, 1}, Every{Month, 3}, 30 * day, "%b %Y"}},
	{120000, 0, XGrid{Every{Week, 2}, Every{Month, 1}, Every{Month, 3}, 30 * day, "%b '%g"}},
	{130000, 0, XGrid{Every{Month, 1}, Every{Month, 2}, Every{Month, 4}, 0, "%Y-%m-%d"}},
	{142000, 0, XGrid{Every{Month, 1}, Every{Month, 3}, Every{Month, 6}, 0, "%Y-%m-%d"}},
	{220000, 0, XGrid{Every{Month, 1}, Every{Month, 6}, Every{Month, 12}, 0, "%Y-%m-%d"}},
	{400000, 0, XGrid{Every{Month, 2}, Every{Month, 12}, Every{Month, 12}, 365 * day, "%Y"}},
	{800000, 0, XGrid{Every{Month, 4}, Every{Month, 12}, Every{Month, 24}, 365 * day, "%Y"}},
	{2000000, 0, XGrid{Every{Month, 6}, Every{Month, 12}, Every{Month, 24}, 365 * day, "'%g"}},
}

// xGrid returns the grid of the x axis for so many columns.
func (o *Options) xGrid(columns int) XGrid {
	if o.XGrid != nil {
		return *o.XGrid
	}
	length := o.End - o.Start
	perPixel := float64(length) / float64(columns)
	chosen := densities[0].grid
	for _, d := range densities {
		if d.perPixel <= perPixel && d.length <= length {
			chosen = d.grid
		}
	}
	if chosen.Format == weekFormat {
		chosen.Format = o.WeekFormat
	}
	return chosen
}

// field returns the field of a unit, and the least value that it has.
func field(f *attime.Fields, u Interval) (*int32, int32) {
	return [...]*int32{&f.Second, &f.Minute, &f.Hour, &f.Day, &f.Day, &f.Month, &f.Year}[u], [...]int32{Day: 1, Week: 1, Year: -1900}[u]
}

// first returns the last line at or before a time.
func (e Every) first(t int64, loc *time.Location, weekStart time.Weekday) int64 {
	c := attime.Local(t, loc)
	for u := range e.Unit {
		if f, least := field(&c, u); u != Day || e.Unit != Week {
			*f = least
		}
	}
	switch f, least := field(&c, e.Unit); e.Unit {
	case Day:
	case Week:
		c.Day -= (c.Weekday - int32(weekStart) + 7) % 7
	default:
		*f -= (*f - least) % int32(e.Count)
	}
	return c.Unix(loc)
}

// next returns the line behind one, by local time. It keeps to summer or winter time as it was at
// t, as rrdtool does: behind a change, lines are an hour off.
func (e Every) next(t int64, loc *time.Location) int64 {
	c := attime.Local(t, loc)
	if e.Unit == Week {
		e.Count *= 7
	}
	f, _ := field(&c, e.Unit)
	*f = int32(min(int64(*f)+int64(e.Count), math.MaxInt32))
	return max(c.Unix(loc), t+1)
}

// The limits of an axis. There is room for less.
const (
	maxLines  = 1 << 16 // lines
	maxLabels = 1 << 12 // labels
	maxLabel  = 255     // bytes of a label
)

// short cuts a label that is too long.
func short(label string) string {
	if len(label) <= maxLabel {
		return label
	}
	return strings.ToValidUTF8(label[:maxLabel], "")
}

// column returns the place of a time, in whole pixels.
func (l *Layout) column(t int64) float64 {
	return math.Trunc(l.Left + float64(l.Width)/float64(l.o.End-l.o.Start)*float64(t-l.o.Start))
}

// xLines lays out the lines and the labels of the x axis.
func (l *Layout) xLines() {
	o := l.o
	if o.End <= o.Start {
		return
	}
	g, loc := o.xGrid(l.Width), o.Now.Location()
	major := g.Major.first(o.Start, loc, o.WeekStart)
	if !o.NoMinor {
		n := 0
		for t := g.Grid.first(o.Start, loc, o.WeekStart); t < o.End && n < maxLines; t, n = g.Grid.next(t, loc), n+1 {
			for major < t && n < maxLines {
				major = g.Major.next(major, loc)
				n++
			}
			if t >= o.Start && t != major {
				l.XLines = append(l.XLines, Line{At: l.column(t)})
			}
		}
	}
	n := 0
	for t := g.Major.first(o.Start, loc, o.WeekStart); t < o.End && n < maxLines; t, n = g.Major.next(t, loc), n+1 {
		if t >= o.Start {
			l.XLines = append(l.XLines, Line{At: l.column(t), Major: true})
		}
	}
	l.xLabels(g)
}

// TimeFormat returns how the data formats write a time: as --x-grid labels it. Without that option
// it is nil, and times are seconds since 1970.
func (o *Options) TimeFormat() func(unix int64) string {
	if o.XGrid == nil {
		return nil
	}
	return func(unix int64) string { return o.label(o.XGrid.Format, unix) }
}

// label formats a time.
func (o *Options) label(format string, unix int64) string {
	names := o.Names
	if names == nil {
		names = graphdata.POSIXNames
	}
	return names.Strftime(format, time.Unix(unix, 0).In(o.Now.Location()))
}

// xLabels lays out the labels of the x axis. rrdtool's default font has room for all of them; of
// another family, those that would touch the one before are left out.
func (l *Layout) xLabels(g XGrid) {
	o := l.o
	loc, n := o.Now.Location(), 0
	half := g.Span / 2
	for t := g.Label.first(o.Start-half, loc, o.WeekStart); t <= o.End-half && n < maxLabels; t, n = g.Label.next(t, loc), n+1 {
		if centre := t + half; centre >= o.Start && centre <= o.End {
			l.XLabels = append(l.XLabels, Label{At: l.column(centre), Text: short(o.label(g.Format, centre))})
		}
	}
	if font := o.Fonts[Axis]; font.Family != "" {
		end, blank := math.Inf(-1), canvas.Width(font, canvas.Plain(" "))
		l.XLabels = slices.DeleteFunc(l.XLabels, func(x Label) bool {
			half := canvas.Width(font, o.runs(x.Text)) / 2
			if x.At-half < end+blank {
				return true
			}
			end = x.At + half
			return false
		})
	}
}
