package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/reshape"
	"github.com/rondo-db/rondo/rra"
)

const tuneUsage = `NAME [OPTIONS] [CHANGES]
  -h, --heartbeat DS:SECONDS
  -i, --minimum DS:VALUE          U: none
  -a, --maximum DS:VALUE          U: none
  -d, --data-source-type DS:TYPE
  -r, --data-source-rename OLD:NEW
  -p, --deltapos FACTOR           the first FAILURES archive
  -n, --deltaneg FACTOR
  -w, --window-length COUNT
  -f, --failure-threshold COUNT
  -x, --alpha FACTOR              the first HWPREDICT or MHWPREDICT archive
  -y, --beta FACTOR
  -z, --gamma FACTOR              the first SEASONAL archive
  -s, --smoothing-window FRACTION
  -v, --gamma-deviation FACTOR    the first DEVSEASONAL archive
  -S, --smoothing-window-deviation FRACTION
  -b, --aberrant-reset DS         forget what was learnt
  -t, --step SECONDS              together with a change; divides the old step
  -D, --daemon ADDRESS            ask the server at ADDRESS
changes:
  DEL:NAME  DS:…  DELRRA:INDEX  RRA:…  RRA#INDEX:[+-=]ROWS`

var tuneOptions = optionsIn(tuneUsage)

// tune changes the definition and the state of a series. As in rrdtool, the options before a wrong
// one are applied. Of the changes behind the options, either all are made or none.
func (c *command) tune(args []string) error {
	name, args, err := c.tuned(args)
	if err != nil {
		return err
	}
	if t, ok := c.Store.(tuner); ok {
		return c.tuneThere(t, name, args)
	}
	series, err := c.series(name)
	if err != nil {
		return err
	}
	var failed error
	_, err = c.Store.Alter(c.ctx, series.Path, func(old core.Copy) (core.Copy, error) {
		var out core.Copy
		out, failed = tuneCopy(old, name, args, 0)
		if out.Definition == nil {
			return out, failed
		}
		return out, nil
	})
	if err == nil {
		err = failed
	}
	if rest, wrong := parse(args, tuneOptions, func(string, string) error { return nil }); err == nil && wrong == nil && len(rest) == 0 {
		return c.printSources(name)
	}
	return named(name, err)
}

// shortValue returns v as C's %1.4f prints it.
func (c *command) shortValue(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return string(appendValue(nil, v))
	}
	return string(c.locale.local(strconv.AppendFloat(nil, v, 'f', 4, 64), 0))
}

// tuneThere lets a daemon tune a series. args contain its name.
func (c *command) tuneThere(t tuner, name string, args []string) error {
	path, err := c.Path(name)
	if err != nil {
		return fmt.Errorf("opening '%s': %w", name, err)
	}
	var rest []string
	changes, err := parse(args, tuneOptions, func(option, arg string) error {
		if option != "daemon" {
			rest = append(rest, "--"+option, arg)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(changes) == 0 { // an option has taken the name
		return errors.New("missing file name")
	}
	return t.Tune(c.ctx, path, append(rest, changes[1:]...))
}

// tuned finds the name of the series among the arguments of tune. Mistakes in other arguments are
// reported later, after the series has been found. If the last option lacks its argument, rrdtool
// uses the name both as that argument and as the name of the series; ordered has the arguments in
// the order in which they are then read.
func (c *command) tuned(args []string) (name string, ordered []string, err error) {
	o := options{known: tuneOptions, args: args}
	var before []string
	for {
		option, arg, err := o.next()
		switch {
		case option == "" && err == nil, err != nil && len(o.args) == 0 && o.short == "":
			if len(o.rest) == 0 || len(o.rest) == 1 && strings.HasPrefix(o.lacks, "--") {
				return "", nil, errors.New("missing file name")
			}
			if o.lacks != "" && o.lacks[1] != '-' {
				return o.rest[0], slices.Concat(before, []string{o.lacks}, o.rest), nil
			}
			return o.rest[0], args, nil
		case option == "daemon":
			if err := c.daemon(arg); err != nil {
				return "", nil, err
			}
		case err == nil:
			before = append(before, "--"+option+"="+arg)
		}
	}
}

// tuneCopy applies the arguments of tune to a series. name is how the caller has named it. With an
// error, tuneCopy returns the series as the options before the mistake have changed it, or a Copy
// without a definition if they changed nothing. most is as in Tune.
func tuneCopy(old core.Copy, name string, args []string, most int64) (core.Copy, error) {
	p, err := reshape.Apart(old)
	if err != nil {
		return core.Copy{}, err
	}
	p.Name = name
	t := tuning{Series: p}
	changes, failed := parse(args, tuneOptions, func(name, arg string) error { return t.option(name, arg) })
	out, err := p.Copy()
	if err != nil {
		return core.Copy{}, errors.Join(failed, err)
	}
	if !t.touched {
		out = core.Copy{}
	}
	if failed != nil || len(changes) < 2 {
		if failed == nil && !t.touched {
			out = old
		}
		return out, failed
	}
	next, err := restructure(p, changes[1:], t.step, most)
	if err != nil {
		return out, err
	}
	return next, nil
}

// printSources prints the data sources of a series. tune does so if an option has consumed the name
// of the series.
func (c *command) printSources(name string) error {
	series, err := c.series(name)
	if err != nil {
		return err
	}
	for i := range series.Definition.Sources {
		s := &series.Definition.Sources[i]
		c.printf("DS[%s] typ: %s\t", s.Name, s.Kind)
		if s.Kind == rra.Compute {
			c.printf("cdef: %s\n", expression(series.Definition, i))
		} else {
			c.printf("hbt: %d\tmin: %s\tmax: %s\n", s.Heartbeat, c.shortValue(s.Min), c.shortValue(s.Max))
		}
	}
	return nil
}
