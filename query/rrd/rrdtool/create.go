package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/query/rrd/reshape"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

const createUsage = `NAME [OPTIONS] DS:… RRA:…
  -b, --start TIME        the series begins after TIME (10 seconds ago)
  -s, --step SECONDS      seconds a primary data point (300); 5m, 1h …
  -t, --template NAME     take data sources, archives and step of a series first
  -r, --source NAME       fill the series with what others hold; DS:NAME=OLD[N]:… says of which
  -O, --no-overwrite      leave a series alone that is there
  -d, --daemon ADDRESS    ask the server at ADDRESS

DS:NAME:KIND:HEARTBEAT:MIN:MAX is a data source: what is measured. KIND is GAUGE (a level), COUNTER or DERIVE
(a count, stored as a rate) or ABSOLUTE (a count since the last reading). After HEARTBEAT seconds without a
reading the value is unknown; readings outside MIN and MAX are unknown, too (U: no bound).
RRA:CF:XFF:ROW:TIME is an archive: rows of ROW (10s, 5m) that are kept for TIME (1d, 1y), each the AVERAGE,
MIN, MAX or LAST of its readings, unknown if more than the part XFF (0.5) of them is.
rondo create also takes archives in plain words, as '10s for 1d, 5m for 1y average max'.`

var createOptions = optionsIn(createUsage)

const (
	defaultStep = 300
	firstSecond = 10 * 365 * 24 * 60 * 60 // earliest start of a series, about 1980
)

// A creating is the options of create.
type creating struct {
	start     int64 // seconds since 1970
	begun     bool  // start was given
	step      int64 // seconds; 0: not given
	template  string
	templated bool // template was given
	sources   []string
	keep      bool  // leave an existing series alone
	missing   error // the first of sources that is not there
}

// newCreating reads the options of create and returns the other arguments.
func (c *command) newCreating(args []string) (o creating, rest []string, err error) {
	now := c.now()
	times := attime.NewReader(now)
	o.start = now.Unix() - 10
	elsewhere := false // a later --daemon says where sources are
	rest, err = parse(args, createOptions, func(name, arg string) (err error) {
		switch name {
		case "start":
			o.begun = true
			o.start, err = times.Instant(arg)
			switch {
			case errors.Is(err, attime.ErrRelative):
				return err
			case err != nil:
				return fmt.Errorf("start time: %w", err)
			case o.start < firstSecond:
				return errors.New("the first entry to the RRD should be after 1980")
			}
		case "step":
			if o.step, err = rra.ParseDuration(arg); err != nil {
				return fmt.Errorf("step size: %w", err)
			}
		case "template":
			if o.templated {
				return errors.New("template already set")
			}
			o.template, o.templated = arg, true
		case "source":
			o.sources = append(o.sources, arg)
			if o.missing == nil {
				o.missing = c.checkSource(arg)
			}
		case "no-overwrite":
			o.keep = true
		case "daemon":
			elsewhere = true
			return c.daemon(arg)
		}
		return nil
	})
	if o.missing != nil && !elsewhere { // as in rrdtool, before what is wrong behind that option
		err = o.missing
	}
	return o, rest, err
}

// checkSource returns an error if there is no series, and no native file, to take rows from.
func (c *command) checkSource(name string) error {
	_, err := c.lookup(name)
	switch {
	case err == nil || c.Files != nil && IsNative(c.Files, name):
		return nil
	case errors.Is(err, core.ErrUnavailable):
		return err
	}
	return fmt.Errorf("error checking for source RRD %s: %w", name, errNoSuchFile)
}

// create makes a series.
func (c *command) create(args []string) error {
	o, args, err := c.newCreating(args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("need name of an rrd file to create")
	}
	for _, s := range o.sources {
		if err := c.checkSource(s); err != nil {
			return err
		}
	}
	name, args := args[0], args[1:]
	if i := slices.IndexFunc(args, rra.IsRetention); i >= 0 && !c.Rondo {
		return fmt.Errorf("can't parse argument '%s'", args[i]) // rrdtool knows no plain words
	}
	path, err := c.pathTo("creating", name)
	if err != nil {
		return err
	}
	if o.keep {
		if _, err := c.Store.Lookup(path); err == nil || c.taken(name) {
			return exists(name)
		}
	}
	d, err := c.created(&o, args)
	if err != nil {
		return err
	}
	keepSame := c.KeepSame || c.Seen != nil && !c.Seen(path)
	if keepSame && !o.keep && len(o.sources) == 0 {
		same, err := c.same(path, d)
		if err != nil {
			return err // else a series that is out of reach now would be replaced
		}
		if same {
			c.made(path)
			if o.begun {
				return c.kept(name, path, o.start)
			}
			return nil
		}
	}
	if err := c.store(&o, path, name, d, args); err != nil {
		if errors.Is(err, core.ErrExists) {
			return exists(name)
		}
		return err
	}
	c.made(path)
	return nil
}

// store stores the series that create was asked for.
func (c *command) store(o *creating, path, name string, d *rra.Definition, args []string) error {
	if len(o.sources) == 0 {
		_, err := c.Store.Create(c.ctx, core.Spec{Path: path, Definition: d, Start: rra.Seconds(o.start), Overwrite: !o.keep, SmoothHash: rra.NameHash(name)})
		return err
	}
	at := rra.Seconds(o.start)
	if !o.begun {
		at = 0
	}
	if t, ok := c.Store.(tuner); ok {
		return c.createThere(t, core.Spec{Path: path, Definition: d, Start: at, Overwrite: !o.keep}, o, args)
	}
	return c.createFilled(path, name, d, at, o.sources, args, !o.keep)
}

// createThere lets a daemon make a series from others.
func (c *command) createThere(t tuner, spec core.Spec, o *creating, args []string) (err error) {
	template := ""
	if o.templated {
		if template, err = c.Path(o.template); err != nil {
			return err
		}
	}
	sources := make([]string, len(o.sources))
	for i, name := range o.sources {
		if sources[i], err = c.Path(name); err != nil {
			return err
		}
	}
	return t.CreateFrom(c.ctx, spec, template, sources, args)
}

func exists(name string) error { return fmt.Errorf("creating '%s': File exists", name) }

// Definition returns the definition that create makes of a step in seconds (0: 300) and of DS and
// RRA arguments.
func Definition(step int64, args []string) (*rra.Definition, error) {
	d, err := rra.ParseDefinition(cmp.Or(step, defaultStep), args)
	if err != nil {
		return nil, err
	}
	unsmooth(d, args)
	return d, nil
}

// created returns the definition of the series that create makes: the template's, if there is one,
// extended by args. If no start was given, the series begins when the template was last updated.
func (c *command) created(o *creating, args []string) (d *rra.Definition, err error) {
	if o.templated {
		var last rra.Time
		d, last, err = c.extended(o.template, o.step, args)
		if !o.begun {
			o.start = last.Unix()
		}
	} else {
		d, err = rra.ParseDefinition(cmp.Or(o.step, defaultStep), args)
		if row, ok := errors.AsType[*rra.RowError](err); ok && o.step == 0 { // the rows say the step
			d, err = rra.ParseDefinition(row.Fits, args)
		}
	}
	if row, ok := errors.AsType[*rra.RowError](err); ok {
		return nil, fmt.Errorf("%w; write --step %ds", err, row.Fits)
	}
	if err != nil {
		return nil, err
	}
	unsmooth(d, args)
	return d, nil
}

// made reports to Env.Made that a series was made.
func (c *command) made(path string) {
	if c.Made != nil {
		c.Made(path)
	}
}

// kept warns a caller who wants a series that begins at start. The existing series is kept, and if
// it was updated after start, it refuses samples of that time.
func (c *command) kept(name, path string, start int64) error {
	ref, err := c.Store.Lookup(path)
	if err != nil {
		return err
	}
	last, err := c.Store.Last(ref)
	if err == nil && last.Unix() > start {
		_, err = fmt.Fprintf(c.Stderr, "%s is kept: it holds samples until %d. rondo drop deletes a series.\n", name, last.Unix())
	}
	return err
}

// same reports whether the series at a path exists and has a definition.
func (c *command) same(path string, d *rra.Definition) (bool, error) {
	ref, err := c.Store.Lookup(path)
	var series core.Series
	if err == nil {
		series, err = c.Store.Series(ref)
	}
	if err != nil {
		if errors.Is(err, core.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	return series.Definition.Step == d.Step && slices.Equal(series.Definition.Args(), d.Args()), nil
}

// createFilled makes a series and fills it from the rows of other series, whose names are names.
// The series begins at start; 0 means at the latest update of the sources. args contain the data
// sources that may be mapped; in d they stand behind a template's.
func (c *command) createFilled(path, name string, d *rra.Definition, start rra.Time, names, args []string, overwrite bool) error {
	var sources []*reshape.Series
	var last rra.Time
	for _, name := range names {
		ref, err := c.owned(name)
		if err != nil {
			return err
		}
		series, err := c.Store.Export(c.ctx, ref)
		if err != nil {
			return named(name, err)
		}
		p, err := reshape.Apart(series)
		if err != nil {
			return err
		}
		sources = append(sources, p)
		last = max(last, rra.Seconds(p.Last())) // in whole seconds, as in rrdtool
	}
	if start == 0 {
		start = last
	}
	plan := reshape.Plan{Path: path, Name: name, Definition: d, Last: start, From: sources, Mapped: mappings(d.Sources, args)}
	series, err := plan.Fill()
	if err != nil {
		return err
	}
	return c.importSeries(series, overwrite)
}

// mappings returns, for each data source, the data source that it is filled from: the one that args
// map it to, or the one of its own name.
func mappings(sources []rra.DataSource, args []string) []rra.Mapping {
	mapped := make([]rra.Mapping, len(sources))
	for i := range sources {
		mapped[i].Name = sources[i].Name
	}
	i := len(sources)
	for _, arg := range slices.Backward(args) {
		if !strings.HasPrefix(arg, "DS:") {
			continue
		}
		if i--; i >= 0 {
			if m, ok := rra.ParseMapping(arg); ok {
				mapped[i] = m
			}
		}
	}
	return mapped
}

// extended returns the definition of the series template with the data sources and archives that
// args add, and the time of the template's last update.
func (c *command) extended(template string, step int64, args []string) (*rra.Definition, rra.Time, error) {
	ref, err := c.owned(template)
	if err != nil {
		return nil, 0, fmt.Errorf("Cannot open template RRD %s", template)
	}
	series, err := c.Store.Series(ref)
	if err != nil {
		return nil, 0, err
	}
	last, err := c.Store.Last(ref)
	if err != nil {
		return nil, 0, err
	}
	t := series.Definition
	if step == 0 {
		step = t.Step
	}
	d, err := rra.ParseDefinition(step, append(t.Args(), args...))
	if err != nil {
		return nil, 0, err
	}
	// The template's parts are copied, because their text does not have the full precision.
	copy(d.Sources, t.Sources)
	copy(d.Archives, t.Archives)
	return d, last, d.Validate()
}

// unsmooth sets the smoothing windows of the archives that HWPREDICT and MHWPREDICT add by
// themselves to 0, if the version of rrdtool's file stores windows: rrdtool does not initialize
// them. Archives that were given without a window have 0.05.
func unsmooth(d *rra.Definition, args []string) {
	if rrdfile.VersionOf(d) < 4 {
		return
	}
	i := len(d.Archives)
	for _, arg := range slices.Backward(args) {
		if !strings.HasPrefix(arg, "RRA:") {
			continue
		}
		i--
		a, err := rra.ParseArchive(arg, d.Step)
		if err != nil || a.Partner >= 0 || a.CF != rra.HWPredict && a.CF != rra.MHWPredict {
			continue
		}
		i -= 4 // SEASONAL, DEVSEASONAL, DEVPREDICT, FAILURES
		d.Archives[i+1].SmoothingWindow, d.Archives[i+2].SmoothingWindow = 0, 0
	}
}
