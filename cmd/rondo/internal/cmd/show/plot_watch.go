package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/live"
	"github.com/rondo-db/rondo/engine/core"
)

// The limits of keys that change the range, in seconds.
const (
	shortestRange = 60
	longestRange  = 20 * 366 * 86400
)

// A watched is a chart that is drawn again and again.
type watched struct {
	*plotting
	names  []string
	every  time.Duration
	reader *repeatReader

	chart  *chart.Chart // nil: nothing was loaded yet
	err    error        // of the last load
	at     time.Time    // of the last load
	paused bool
}

// watching shows the chart until a key or a signal ends it.
func (p *plotting) watching(ctx context.Context, names []string, every time.Duration) (err error) {
	if !cli.IsTerminal(p.Stdout) {
		return errors.New("--watch needs a terminal; without it the chart is printed once")
	}
	u := &repeatReader{target: p.Target()}
	defer func() { err = cmp.Or(err, u.close()) }()
	w := &watched{plotting: p, names: names, every: every, reader: u}
	c, err := w.read(ctx, *p) // what is wrong with the names is reported before the screen is taken
	if err != nil {
		return err
	}
	w.put(c, nil)
	return ended(live.Run(ctx, w, live.Options{Every: func() time.Duration { return every }}))
}

// ended returns the exit code of a program that had the screen. A signal is no error to print.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return cli.ExitError(cli.ExitStopped)
	}
	return err
}

// read returns the chart as it is now.
func (w *watched) read(ctx context.Context, p plotting) (c *chart.Chart, err error) {
	err = w.reader.with(ctx, func(o *backend.Database) error {
		c, err = p.draw(ctx, o, w.names, p.Look(p.Stdout, p.LookFlags))
		return err
	})
	return c, err
}

func (w *watched) put(c *chart.Chart, err error) {
	if w.err = err; err == nil {
		w.chart = c
	}
	w.at = w.Now()
}

// Load reads the rows again.
func (w *watched) Load() func(context.Context) func() {
	if w.paused {
		return nil
	}
	p := *w.plotting // keys change it meanwhile
	return func(ctx context.Context) func() {
		c, err := w.read(ctx, p)
		return func() { w.put(c, err) }
	}
}

// Draw draws the newest chart at the size that the terminal has now.
func (w *watched) Draw(width, height int) *chart.Grid {
	if w.plotting.Width > 0 {
		width = w.plotting.Width
	}
	if w.plotting.Height > 0 {
		height = w.plotting.Height + 1
	}
	if w.chart == nil { // the first load has not ended
		g := chart.NewGrid(width, height)
		if w.err != nil {
			g.Put(0, 0, "ERROR: "+cli.OneLine(w.err.Error()), chart.Style{Bold: true})
		}
		return g
	}
	c := *w.chart
	c.Width, c.Height, c.Log, c.Stack = width, height-1, w.log, w.stack
	drawn := chart.Draw(&c)
	g := chart.NewGrid(max(width, drawn.Width), max(height, drawn.Height+1))
	for y := range drawn.Height {
		for x := range drawn.Width {
			*g.At(x, y) = *drawn.At(x, y)
		}
	}
	foot := fmt.Sprintf("every %s  %s  +/- range  arrows move  l log  s stack  space pause  q quit", intervalText(w.every), w.at.In(w.Location()).Format("15:04:05"))
	switch {
	case w.err != nil:
		foot = "ERROR: " + cli.OneLine(w.err.Error())
	case w.paused:
		foot = "paused  space goes on"
	}
	g.Put(0, height-1, foot, chart.Style{Dim: w.err == nil, Bold: w.err != nil})
	return g
}

func intervalText(d time.Duration) string { return (*cli.Duration)(&d).String() }

// Key obeys a key.
func (w *watched) Key(name string) live.Action {
	length := int64(leastPlotted)
	if w.chart != nil {
		length = w.chart.End - w.chart.Start
	}
	switch name {
	case "q", "esc":
		return live.Quit
	case " ", "p":
		w.paused = !w.paused
	case "l":
		w.log, w.stack = !w.log, false
	case "s":
		w.stack, w.log = !w.stack, false
	case "+", "=", "up":
		w.shift.length = max(shortestRange, length/2)
	case "-", "down":
		w.shift.length = min(longestRange, length*2)
	case "left":
		w.shift.back += length / 4
	case "right":
		w.shift.back = max(0, w.shift.back-length/4)
	case "home", "0":
		w.shift = shift{}
	default:
		return live.Stay
	}
	return live.Reload
}

// A repeatReader reads a database again and again. It keeps the connection to a server. Without a
// server it opens the database for each reading, because nobody else can write while it is open.
type repeatReader struct {
	target backend.Target
	server *backend.Database // nil: no connection
}

// with calls read with the database. If the server has ended, the next call looks for it anew.
func (u *repeatReader) with(ctx context.Context, read func(*backend.Database) error) (err error) {
	o := u.server
	if o == nil {
		if o, err = u.target.Must(ctx, core.Options{ReadOnly: true}); err != nil {
			return err
		}
		if o.Client != nil {
			u.server = o
		}
	}
	err = read(o)
	if o.Client == nil || err != nil {
		u.server = nil
		err = cmp.Or(err, o.Close())
	}
	return err
}

func (u *repeatReader) close() error {
	if u.server == nil {
		return nil
	}
	return u.server.Close()
}
