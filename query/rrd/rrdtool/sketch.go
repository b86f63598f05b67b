package rrdtool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graphdata"
)

// A Sketch is a graph whose arguments have been read, and whose data have not.
type Sketch struct {
	drawing *drawing
	lines   int
}

// A Wish is what a program adds to the arguments of a graph.
type Wish struct {
	// Set may change the options after the arguments; nil changes nothing.
	Set func(o *graph.Options) error
	// Present returns the time for which the graph is drawn, by its options at the clock of the
	// Env; nil means that clock.
	Present func(o *graph.Options) time.Time
}

// NewSketch reads the arguments of graph, without the name of a file. env need not have a store:
// [Sketch.Draw] gets the series. The errors have rrdtool's words.
func NewSketch(env *Env, args []string, w Wish) (*Sketch, error) {
	c := &command{Env: env.withDefaults(), ctx: context.Background()}
	o, lines, err := c.options(args, w.Set)
	if err == nil && w.Present != nil {
		// Times that count from the present are read again. Lines, which cost more, are read once.
		at := w.Present(o)
		c.Now = func() time.Time { return at }
		o, lines, err = c.options(args, w.Set)
	}
	if err != nil {
		return nil, c.locale.localError(err)
	}
	d := &drawing{command: c, file: "-", memory: true}
	if d.Graph, err = graph.New(o, lines); err != nil {
		return nil, c.locale.localError(err)
	}
	return &Sketch{d, len(lines)}, nil
}

// options returns the options among the arguments of graph, in the locale, and the other
// arguments. set may be nil.
func (c *command) options(args []string, set func(o *graph.Options) error) (*graph.Options, []string, error) {
	o := graph.NewOptions(c.now())
	o.Names, o.WeekStart, o.Point = c.locale.names, c.locale.weekStart, graphdata.Point(c.locale.point)
	lines, err := parse(args, graphOptions, o.Set)
	if err == nil && set != nil {
		err = set(o)
	}
	if err == nil {
		err = o.Finish()
	}
	return o, lines, err
}

// Options are the options of the graph, with its range of time.
func (s *Sketch) Options() *graph.Options { return s.drawing.Options }

// Lines is how many lines the graph has.
func (s *Sketch) Lines() int { return s.lines }

// Names returns the names of the series that the graph reads, as its DEFs have them.
func (s *Sketch) Names() []string { return s.drawing.Program.Files() }

// Readings returns the rows that Draw will read, without reading them.
func (s *Sketch) Readings(ctx context.Context, source graphdata.Source) ([]graphdata.Reading, error) {
	return s.drawing.Program.Readings(ctx, source)
}

// ErrNothing says that a graph has no line that draws.
var ErrNothing = errors.New("the graph draws nothing: it has no LINE, AREA, TICK, HRULE or VRULE")

// A SizeError says that a picture would have too many pixels, or that its file would be too long.
type SizeError struct {
	Pixels, Most float64
	Bytes        int // the greatest length of the file; 0: the pixels are too many
}

func (e *SizeError) Error() string {
	if e.Bytes > 0 {
		return fmt.Sprintf("the picture would have more than %d bytes: draw less, or as PNG", e.Bytes)
	}
	return fmt.Sprintf("the picture would have %.0f pixels, more than %.0f", e.Pixels, e.Most)
}

// Most bounds a picture. 0 is no bound.
type Most struct {
	Pixels int
	Bytes  int // of the file, without fonts
}

// Draw fetches the data and returns the picture. It may be called once. The error is a [*SizeError]
// if the picture would be larger than most says, and ErrNothing if nothing would be on it. The end
// of ctx ends the drawing.
func (s *Sketch) Draw(ctx context.Context, source graphdata.Source, most Most) ([]byte, error) {
	d := s.drawing
	d.ctx, d.most = ctx, most
	err := d.picture(source)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, d.locale.localError(err)
	case d.image == nil:
		return nil, ErrNothing
	}
	return d.image, nil
}

// Columns fetches the data of the lines that draw or export, for those who want numbers instead of
// a picture. The program has run: its exports are the columns. The error is ErrNothing if there are
// none.
func (s *Sketch) Columns(ctx context.Context, source graphdata.Source) (*graphdata.Program, error) {
	p := s.drawing.Program
	p.ExportDrawn()
	if err := p.Run(ctx, source); err != nil {
		return nil, s.drawing.locale.localError(err)
	}
	if len(p.Exports()) == 0 {
		return nil, ErrNothing
	}
	return p, nil
}
