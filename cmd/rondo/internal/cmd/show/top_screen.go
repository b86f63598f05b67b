package show

import (
	"context"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/live"
	"github.com/rondo-db/rondo/cmd/rondo/internal/top"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A topScreen is the screen of rondo top.
type topScreen struct {
	*topRun
	reader *repeatReader
	prefix string
	view   top.View
	page   string        // where the pass through all series goes on
	spent  time.Duration // by the last reading
	brief  bool          // the next reading is only of the lines on the screen
	plot   *watched      // the plot that hides the table; nil: there is none
}

// every returns the pause until the next reading. In the first pass there is none.
func (s *topScreen) every() time.Duration {
	if s.plot == nil && s.view.Model.Passes() == 0 && s.view.Err == nil && !s.view.Paused {
		return time.Millisecond
	}
	return max(time.Duration(s.interval), (topShare-1)*s.spent)
}

// A topReading is what one reading has brought.
type topReading struct {
	series  []*rondov1.LatestSeries // of pages
	visible []*rondov1.LatestSeries // of the lines on the screen, with rows for sparklines
	page    string                  // the next page
	passed  bool                    // a pass has ended
	err     error
	spent   time.Duration
}

// Load reads the lines on the screen, and as many pages of the others as the time allows, at least
// one.
func (s *topScreen) Load() func(context.Context) func() {
	switch {
	case s.plot != nil:
		return s.plot.Load()
	case s.view.Paused:
		return nil
	}
	var paths []string
	for _, l := range s.view.Visible() {
		if n := len(paths); n == 0 || paths[n-1] != l.Path {
			paths = append(paths, l.Path)
		}
	}
	page, budget := s.page, time.Duration(s.interval)/topShare
	if s.view.Model.Passes() == 0 {
		budget = topFirst
	}
	if s.brief {
		s.brief, budget = false, 0
	}
	return func(ctx context.Context) func() {
		r := s.read(ctx, paths, page, budget)
		return func() { s.put(r) }
	}
}

// read reads pages for about as long as budget.
func (s *topScreen) read(ctx context.Context, paths []string, page string, budget time.Duration) *topReading {
	r := &topReading{page: page}
	began := time.Now()
	r.err = s.reader.with(ctx, func(o *backend.Database) error {
		api := o.API()
		for len(paths) > 0 {
			n := min(len(paths), 500)
			answer, err := api.Latest(ctx, &rondov1.LatestRequest{Paths: paths[:n], Rows: top.SparkRows})
			if err != nil {
				return cli.WithoutPrefix(err)
			}
			r.visible, paths = append(r.visible, answer.GetSeries()...), paths[n:]
		}
		for budget > 0 {
			answer, err := api.Latest(ctx, &rondov1.LatestRequest{Prefix: s.prefix, Page: r.page, Limit: topPage, Rows: topRows})
			if err != nil {
				return cli.WithoutPrefix(err)
			}
			r.series = append(r.series, answer.GetSeries()...)
			if r.page = answer.GetNextPage(); r.page == "" {
				r.passed = true
				return nil
			}
			if time.Since(began) > budget {
				break
			}
		}
		return nil
	})
	r.spent = time.Since(began)
	return r
}

func (s *topScreen) put(r *topReading) {
	m := s.view.Model
	s.spent, s.page, s.view.Err = r.spent, r.page, r.err
	if s.view.Paused {
		return
	}
	m.Put(r.series, topRows)
	m.Put(r.visible, top.SparkRows)
	if r.passed && r.err == nil {
		m.EndPass()
	}
	s.view.Arrange()
}

// Draw draws the table, or the plot in front of it.
func (s *topScreen) Draw(width, height int) *chart.Grid {
	if s.plot != nil {
		return s.plot.Draw(width, height)
	}
	return s.view.Draw(width, height)
}

// Key obeys a key.
func (s *topScreen) Key(name string) live.Action {
	if s.plot != nil {
		if s.plot.Key(name) == live.Quit {
			s.plot = nil
		}
		return live.Reload
	}
	quit, plot, read := s.view.Key(name)
	switch {
	case quit:
		return live.Quit
	case plot:
		s.plot = s.plotOf(s.view.Selected())
		return live.Reload
	case read && s.view.Unread():
		s.brief = true
		return live.Reload
	}
	return live.Stay
}

func (s *topScreen) plotOf(l *top.Line) *watched {
	p := &plotting{Factory: s.Factory, LookFlags: cli.LookFlags{ASCII: s.ascii, Color: cli.Whens[0]}, band: cli.Whens[0]}
	return &watched{plotting: p, names: []string{l.Path + ":" + l.DS}, every: time.Duration(s.interval), reader: s.reader}
}
