package graph

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/query/graphdata"
)

// ErrStack says that a STACK has a wrong colour.
var ErrStack = errors.New("STACK should already be turned into LINE or AREA here")

// A Graph is the lines of a graph, and after Run what they show.
type Graph struct {
	Options *Options
	Program *graphdata.Program

	marks   []graphdata.Mark
	columns [][]float64 // what each mark draws, a value a column; nil: it draws none

	// Prints are what the PRINT lines print, after Run.
	Prints []string
	// Drawn says that there is something to draw, after Run.
	Drawn bool
}

// New reads the lines of a graph. The options are finished. The error has rrdtool's words.
func New(o *Options, lines []string) (*Graph, error) {
	if len(lines) > MaxElements {
		return nil, fmt.Errorf("a graph of %d elements: more than %d", len(lines), MaxElements)
	}
	g := &Graph{Options: o}
	g.Program = graphdata.New(graphdata.Options{
		Start: o.Start, End: o.End, Step: o.Step, Now: o.Now, Times: o.times.Times, WeekStart: o.WeekStart, Names: o.Names, Point: o.Point, MissingIsUnknown: o.MissingIsUnknown, Work: o.Work,
	})
	for _, line := range lines {
		if err := g.Program.Add(line); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Run fetches the data of a graph and calculates. The errors have rrdtool's words.
func (g *Graph) Run(ctx context.Context, s graphdata.Source) error {
	if err := g.Program.Run(ctx, s); err != nil {
		return err
	}
	return g.Print()
}

// Print works out what the lines of a graph print, after its Program has run.
func (g *Graph) Print() (err error) {
	if g.marks, err = g.Program.Written(g.Options.Base); err != nil {
		return err
	}
	for _, m := range g.marks {
		switch m.Kind {
		case graphdata.PRINT:
			g.Prints = append(g.Prints, m.Text)
		case graphdata.COMMENT, graphdata.TEXTALIGN, graphdata.EXPORTED:
		case graphdata.STACK: // its colour is wrong
			return ErrStack
		default:
			g.Drawn = true
		}
	}
	return nil
}

// constant is the number that a rule stands at: a VRULE at the time of a VDEF, an HRULE at its
// value.
func (g *Graph) constant(m graphdata.Mark) float64 {
	d := m.Drawing
	switch {
	case d.Variable < 0:
		return d.Value
	case m.Kind == graphdata.VRULE:
		return float64(g.Program.Time(d.Variable))
	}
	if s := g.Program.Series(d.Variable); len(s.Values) > 0 {
		return s.Values[0]
	}
	return math.NaN()
}

// sum works out what each mark draws in so many columns, one on top of the other where they are
// stacked, and the least and the greatest of it; NaN without any.
func (g *Graph) sum(width int) (low, high float64) {
	low, high = math.NaN(), math.NaN()
	g.columns = make([][]float64, len(g.marks))
	running := make([]float64, width)
	for i, m := range g.marks {
		switch m.Kind {
		case graphdata.LINE, graphdata.AREA, graphdata.TICK:
		default:
			continue
		}
		values := make([]float64, width)
		at := g.valuesOf(m.Drawing)
		counts := m.Kind != graphdata.TICK && !m.Drawing.SkipScale
		for k := range values {
			if !m.Drawing.Stack {
				running[k] = 0
			}
			v := at(k, width)
			if v != v {
				values[k] = v
				continue
			}
			running[k] += v
			v = running[k]
			values[k] = v
			if !counts || v-v != 0 {
				continue
			}
			if !(v >= low) && !(g.Options.Log && v <= 0) {
				low = v
			}
			if !(v <= high) {
				high = v
			}
		}
		g.columns[i] = values
	}
	return low, high
}

func (g *Graph) valuesOf(d *graphdata.Drawing) func(column, width int) float64 {
	if d.Variable < 0 {
		return func(int, int) float64 { return d.Value }
	}
	s := g.Program.Series(d.Variable)
	if s.Step <= 0 {
		v := math.NaN()
		if len(s.Values) > 0 {
			v = s.Values[0]
		}
		return func(int, int) float64 { return v }
	}
	o := g.Options
	length := o.End - o.Start
	return func(column, width int) float64 {
		// The sum is rounded, so that a column that begins with a row shows it.
		at := int64(float64(o.Start) + float64(column)*(float64(length)/float64(width)))
		if at < s.Start {
			return math.NaN()
		}
		if row := (at - s.Start) / s.Step; row < int64(len(s.Values)) {
			return s.Values[row]
		}
		return math.NaN()
	}
}
