package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
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

var createOptions = []option{
	{"start", 'b', true},
	{"step", 's', true},
	{"template", 't', true},
	{"source", 'r', true},
	{"no-overwrite", 'O', false},
	{"daemon", 'd', true},
}

const (
	defaultStep = 300
	firstSecond = 10 * 365 * 24 * 60 * 60 // series begin after it: about 1980
)

// create makes a series.
func (c *command) create(args []string) error {
	now := c.now()
	var (
		start     = now.Unix() - 10
		begun     bool
		step      int64
		template  string
		templated bool
		sources   []string
		keep      bool
	)
	args, err := parse(args, createOptions, func(name, arg string) (err error) {
		switch name {
		case "start":
			begun = true
			start, err = attime.Instant(arg, now)
			switch {
			case errors.Is(err, attime.ErrRelative):
				return err
			case err != nil:
				return fmt.Errorf("start time: %w", err)
			case start < firstSecond:
				return errors.New("the first entry to the RRD should be after 1980")
			}
		case "step":
			if step, err = rra.ParseDuration(arg); err != nil {
				return fmt.Errorf("step size: %w", err)
			}
		case "template":
			if templated {
				return errors.New("template already set")
			}
			template, templated = arg, true
		case "source":
			sources = append(sources, arg)
		case "no-overwrite":
			keep = true
		case "daemon":
			return c.daemon(arg)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("need name of an rrd file to create")
	}
	for _, s := range sources {
		if _, err := c.owned(s); err != nil {
			return fmt.Errorf("error checking for source RRD %s: %w", s, errNoSuchFile)
		}
	}
	name, args := args[0], args[1:]
	if i := slices.IndexFunc(args, rra.IsRetention); i >= 0 && !c.Rondo {
		return fmt.Errorf("can't parse argument '%s'", args[i]) // rrdtool knows no plain words
	}
	path, err := c.path(name)
	if err == nil && path == "" {
		err = errNoSuchFile
	}
	if err != nil {
		return fmt.Errorf("creating '%s': %w", name, err)
	}
	if keep {
		if _, err := c.Store.Lookup(path); err == nil {
			return fmt.Errorf("creating '%s': File exists", name)
		}
	}
	var d *rra.Definition
	if templated {
		var last rra.Time
		d, last, err = c.extended(template, step, args)
		if !begun {
			start = last.Unix()
		}
	} else {
		if step == 0 {
			step = defaultStep
		}
		d, err = rra.ParseDefinition(step, args)
	}
	if row, ok := errors.AsType[*rra.RowError](err); ok {
		return fmt.Errorf("%w; write --step %ds", err, row.Fits)
	}
	if err != nil {
		return err
	}
	unsmooth(d, args)
	keepSame := c.KeepSame || c.Seen != nil && !c.Seen(path)
	if keepSame && !keep && len(sources) == 0 && c.same(path, d) {
		c.made(path)
		if begun {
			return c.kept(name, path, start)
		}
		return nil
	}
	if len(sources) > 0 {
		at := rra.Seconds(start)
		if !begun {
			at = 0
		}
		err = c.createFilled(path, name, d, at, sources, args, !keep)
	} else {
		_, err = c.Store.Create(c.ctx, core.Spec{Path: path, Definition: d, Start: rra.Seconds(start), Overwrite: !keep, SmoothHash: rra.NameHash(name)})
	}
	if errors.Is(err, core.ErrExists) {
		return fmt.Errorf("creating '%s': File exists", name)
	}
	if err == nil {
		c.made(path)
	}
	return err
}

// made says that there is a series now.
func (c *command) made(path string) {
	if c.Made != nil {
		c.Made(path)
	}
}

// kept tells who wants a series that begins at start that there is one, which is kept and takes no
// samples of then any more.
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

// same says whether there is a series of a definition.
func (c *command) same(path string, d *rra.Definition) bool {
	ref, err := c.Store.Lookup(path)
	if err != nil {
		return false
	}
	series, err := c.Store.Series(ref)
	return err == nil && series.Definition.Step == d.Step && slices.Equal(series.Definition.Args(), d.Args())
}

// createFilled makes a series of what the sources hold. It begins at start; 0: when the latest of
// them ends. args are those with data sources that may be mapped; those of a template stand before
// them.
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
		last = max(last, rra.Seconds(p.Last())) // in whole seconds, as rrdtool does
	}
	if start == 0 {
		start = last
	}
	plan := reshape.Plan{Path: path, Name: name, Definition: d, Last: start, From: sources, Mapped: mappings(d.Sources, args)}
	series, err := plan.Fill()
	if err != nil {
		return err
	}
	made, err := c.Store.Import(c.ctx, []core.Copy{series}, overwrite)
	if err == nil {
		err = made[0].Err
	}
	return err
}

// mappings says of each data source from which it is filled: that of its own name, if args do not
// map it.
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

// extended returns the definition of the series template with what args add to it, and when the
// template was last updated.
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
	// As they are, not as their text says: text cannot say every limit and band.
	copy(d.Sources, t.Sources)
	copy(d.Archives, t.Archives)
	return d, last, d.Validate()
}

// unsmooth sets the smoothing windows of the archives that HWPREDICT and
// MHWPREDICT brought along to 0 where the version of rrdtool's file keeps them:
// it does not fill them in. Those that were written without one have 0.05.
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
