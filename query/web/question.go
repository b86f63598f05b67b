package web

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A question is what the address of a graph asks for.
type question struct {
	format   string   // the end of the path: svg, png and so on
	args     []string // options and lines of the graph language
	settings [][2]string
	zone     *time.Location
}

// short are the short forms of options: keys of an address, and the options that they set.
var short = [][2]string{{"from", "start"}, {"to", "end"}, {"width", "width"}, {"height", "height"}, {"title", "title"}}

// dark are options for the colours of the dark page.
var dark = []string{
	"--color", "BACK#14181e", "--color", "CANVAS#14181e", "--color", "FONT#e7ebf0", "--color", "AXIS#98a3b0", "--color", "ARROW#98a3b0",
	"--color", "FRAME#272e38", "--color", "GRID#98a3b040", "--color", "MGRID#98a3b070", "--color", "SHADEA#272e38", "--color", "SHADEB#272e38",
}

// pictures are the formats of pictures, with their media types and their names as --imgformat.
var pictures = map[string]struct{ kind, name string }{
	"svg": {"image/svg+xml", "SVG"},
	"png": {"image/png", "PNG"},
	"pdf": {"application/pdf", "PDF"},
	"eps": {"application/postscript", "EPS"},
}

// numbers are the formats of numbers, with their media types.
var numbers = map[string]string{
	"json": "application/json",
	"xml":  "application/xml",
	"csv":  "text/csv; charset=utf-8",
	"tsv":  "text/tab-separated-values; charset=utf-8",
	"ssv":  "text/plain; charset=utf-8",
}

// ask reads the query of an address. Keys that it does not know are errors, except "_", with which
// scripts make addresses unique. u is who asks.
func (s *Server) ask(u *access.User, format, query string) (*question, error) {
	q := &question{format: format, zone: s.Location}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, wrong("the query is malformed: %w", err)
	}
	for key, v := range values {
		known := slices.Contains([]string{"arg", "tz", "theme", "dashboard", "graph", "_"}, key) ||
			slices.ContainsFunc(short, func(o [2]string) bool { return o[0] == key }) ||
			strings.HasPrefix(key, variableKey) && values.Has("dashboard")
		switch {
		case !known:
			return nil, wrong("the key %q means nothing: the keys of a graph are arg, from, to, width, height, title, tz, theme, dashboard and graph", key)
		case len(v) > 1 && key != "arg":
			return nil, wrong("%s is given %d times", key, len(v))
		}
		for _, text := range v {
			if err := checkText(text); err != nil {
				return nil, wrong("%s %w", key, err)
			}
		}
	}
	if err := s.subject(u, q, values); err != nil {
		return nil, err
	}
	switch theme := values.Get("theme"); theme {
	case "", "light":
	case "dark":
		q.args = append(slices.Clone(dark), q.args...) // colours of the graph's own win
	default:
		return nil, wrong("theme %q is neither light nor dark", theme)
	}
	for _, o := range short {
		if v := values.Get(o[0]); v != "" {
			q.settings = append(q.settings, [2]string{o[1], v})
		}
	}
	if tz := values.Get("tz"); tz != "" {
		if q.zone, err = time.LoadLocation(tz); err != nil || tz == "Local" {
			return nil, wrong("tz %q is no time zone: want a name such as Europe/Berlin, or UTC", tz)
		}
	}
	return q, nil
}

// subject takes the arguments of the graph: from the address, or from a dashboard.
func (s *Server) subject(u *access.User, q *question, values url.Values) error {
	q.args = values["arg"]
	name := values.Get("dashboard")
	switch {
	case name != "" && len(q.args) > 0:
		return wrong("arg and dashboard are given: one of them says what the graph is")
	case name != "":
		return s.saved(u, q, name, values)
	case values.Get("graph") != "":
		return wrong("graph is given without dashboard")
	case len(q.args) > maxArgs:
		return wrong("a graph of %d arguments: at most %d are possible", len(q.args), maxArgs)
	case len(q.args) == 0:
		return wrong("there is no graph: give its options and lines as arg=…&arg=…, each word of rrdtool graph behind the name of the file")
	}
	return nil
}

// saved takes the arguments of one graph of a dashboard, by its number among those that the user
// may see; the first is 1.
func (s *Server) saved(u *access.User, q *question, name string, values url.Values) error {
	if s.Pages == nil {
		return dashboards.ErrNotFound
	}
	_, page, err := s.Pages.ReadFor(u, name)
	if parse, ok := errors.AsType[*dashboards.ParseError](err); ok {
		return wrong("dashboard %s: %w", name, parse)
	}
	if err != nil {
		return err
	}
	n := 1
	if number := values.Get("graph"); number != "" {
		if n, err = strconv.Atoi(number); err != nil {
			return wrong("graph %q is no number", number)
		}
	}
	if n < 1 || n > len(page.Graphs) {
		return fmt.Errorf("%w: %s has %d graphs, and no graph %d", dashboards.ErrNotFound, name, len(page.Graphs), n)
	}
	g, err := page.Filled(page.Graphs[n-1], variablesIn(values))
	if err != nil {
		return wrong("dashboard %s: %w: give %sNAME=VALUE", name, err, variableKey)
	}
	if g.Queries() {
		return wrong("graph %d of dashboard %s has PromQL, which only the page shows", n, name)
	}
	if q.args = g.Args; g.Title != "" {
		q.args = append([]string{"--title", g.Title}, g.Args...)
	}
	return nil
}

// variableKey begins the key of a dashboard's variable in an address, as in Grafana's.
const variableKey = "var-"

// variablesIn returns the values of variables in an address.
func variablesIn(q url.Values) map[string]string {
	values := make(map[string]string)
	for key := range q {
		if name, ok := strings.CutPrefix(key, variableKey); ok {
			values[name] = q.Get(key)
		}
	}
	return values
}

// checkText returns an error if a text of an address is not UTF-8 or holds control characters other
// than line ends and tabs.
func checkText(s string) error {
	return text.Printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(s))
}

// refused lists options that mean nothing, or are not safe, in a server that answers others.
var refused = map[string]string{
	"daemon":  "this server does not ask others: --daemon is for the command line",
	"imginfo": "--imginfo is for the command line",
	"lazy":    "--lazy is for the command line: send If-None-Match",
}

// sketch reads the arguments of the graph. present chooses the time for which it is drawn.
func (s *Server) sketch(q *question, now time.Time, present func(o *graph.Options) time.Time) (*rrdtool.Sketch, error) {
	env := &rrdtool.Env{Now: func() time.Time { return now }, Location: q.zone}
	set := func(o *graph.Options) error {
		for _, v := range q.settings {
			if err := o.Set(v[0], v[1]); err != nil {
				return err
			}
		}
		if p, ok := pictures[q.format]; ok {
			if err := o.Set("imgformat", p.name); err != nil {
				return err
			}
		}
		o.Work = maxWork
		return check(o)
	}
	sketch, err := rrdtool.NewSketch(env, q.args, rrdtool.Wish{Set: set, Present: present})
	if err != nil {
		return nil, wrong("%w", err)
	}
	if n := sketch.Lines(); n > maxLines {
		return nil, wrong("a graph of %d lines: at most %d are possible", n, maxLines)
	}
	if o := sketch.Options(); o.End-o.Start > maxRange*24*60*60 {
		return nil, wrong("from %d to %d are %d days: at most %d are possible", o.Start, o.End, (o.End-o.Start)/(24*60*60), maxRange)
	}
	return sketch, nil
}

// check refuses options that ask for too much, or that an address may not have.
func check(o *graph.Options) error {
	switch {
	case o.Daemon != "":
		return fmt.Errorf("%s", refused["daemon"])
	case o.ImageInfo != "":
		return fmt.Errorf("%s", refused["imginfo"])
	case o.Lazy:
		return fmt.Errorf("%s", refused["lazy"])
	}
	w, h := float64(o.Width)*o.Zoom, float64(o.Height)*o.Zoom
	if w > maxSide || h > maxSide {
		return fmt.Errorf("a graph of %s times %s pixels: at most %d are possible on a side", number(w), number(h), maxSide)
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
