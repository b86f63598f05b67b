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
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
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

// A tuning applies the options of tune to the parts of a series.
type tuning struct {
	*reshape.Series
	step    int64
	touched bool
}

// option applies one option.
func (t *tuning) option(name, arg string) error {
	if name == "step" {
		t.step, _ = scanInt(arg)
		return nil
	}
	if name == "daemon" {
		return nil
	}
	err := t.sourceOption(name, arg)
	if errors.Is(err, errOtherOption) {
		err = t.modelOption(name, arg)
	}
	t.touched = t.touched || err == nil
	return err
}

// errOtherOption says that an option does not concern a data source.
var errOtherOption = errors.New("another option")

// sourceOption applies an option that begins with the name of a data source.
func (t *tuning) sourceOption(name, arg string) error {
	what, ok := map[string]string{
		"heartbeat": "arguments for heartbeat", "minimum": "arguments for minimum ds value", "maximum": "arguments for maximum ds value",
		"data-source-type": "arguments for data source type", "data-source-rename": "arguments for data source type",
		"aberrant-reset": "argument for aberrant-reset",
	}[name]
	if !ok {
		return errOtherOption
	}
	invalid := errors.New("invalid " + what)
	source, rest := leadingName(arg)
	value, colon := strings.CutPrefix(rest, ":")
	if source == "" || !colon && name != "aberrant-reset" {
		return invalid
	}
	var set func(i int) error
	switch name {
	case "heartbeat":
		seconds, ok := scanInt(value)
		if !ok {
			return invalid
		}
		set = func(i int) error { t.Definition.Sources[i].Heartbeat = seconds; return nil }
	case "minimum", "maximum":
		limit, err := tunedLimit(value)
		if err != nil {
			return invalid
		}
		set = func(i int) error {
			if name == "minimum" {
				t.Definition.Sources[i].Min = limit
			} else {
				t.Definition.Sources[i].Max = limit
			}
			return nil
		}
	case "data-source-type":
		kind := leadingOf(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		if kind == "" {
			return invalid
		}
		set = func(i int) error { return t.setKind(i, kind[:min(len(kind), 19)]) }
	case "data-source-rename":
		next, _ := leadingName(value)
		if next == "" {
			return invalid
		}
		set = func(i int) error { return t.Rename(i, next) }
	default:
		set = func(i int) error { t.Forget(i); return nil }
	}
	i := t.Source(source)
	if i < 0 {
		return fmt.Errorf("unknown data source name '%s'", source)
	}
	if limits := name == "heartbeat" || name == "minimum" || name == "maximum"; limits && t.Definition.Sources[i].Kind == rra.Compute {
		return fmt.Errorf("data source '%s' is COMPUTE and has no %s", source, name)
	}
	return set(i)
}

// setKind gives a data source another kind, and forgets its last reading.
func (t *tuning) setKind(i int, text string) error {
	kind, err := rra.ParseKind(text)
	if err != nil {
		return fmt.Errorf("unknown data acquisition function '%s'", text)
	}
	s := &t.Definition.Sources[i]
	if kind == s.Kind {
		return nil
	}
	if kind == rra.Compute {
		return errors.New("a data source cannot be made COMPUTE: there is no expression")
	}
	s.Kind, s.Expr = kind, ""
	t.State.Sources[i].LastReading = "UNKN"
	return nil
}

// modelOption applies an option for archives of the Holt-Winters family.
func (t *tuning) modelOption(name, arg string) error {
	switch name {
	case "deltapos", "deltaneg":
		return t.delta(name, arg)
	case "window-length", "failure-threshold":
		return t.violations(name, arg)
	}
	smoothing := strings.HasPrefix(name, "smoothing")
	v, n := rpn.ScanNumber(arg)
	switch lower := strings.ToLower(strings.TrimLeft(arg, " ")); {
	case n == 0 && !strings.HasPrefix(strings.TrimPrefix(lower, "-"), "inf") && !strings.HasPrefix(strings.TrimPrefix(lower, "-"), "nan"):
		return errors.New("Unable to parse Holt-Winters parameter")
	case n == 0, v < 0, v > 1, !smoothing && (v == 0 || v == 1):
		return errors.New("Holt-Winters parameter must be between 0 and 1")
	}
	var i int
	switch name {
	case "alpha", "beta":
		if i = t.Archive(rra.HWPredict); i < 0 {
			i = t.Archive(rra.MHWPredict)
		}
	case "gamma", "smoothing-window":
		i = t.Archive(rra.Seasonal)
	default:
		i = t.Archive(rra.DevSeasonal)
	}
	if i < 0 {
		return errors.New("Holt-Winters RRA does not exist in this RRD")
	}
	a := &t.Definition.Archives[i]
	switch {
	case name == "alpha":
		a.Alpha = v
	case name == "beta":
		a.Beta = v
	case smoothing:
		t.keepWindows()
		a.SmoothingWindow = v
	default:
		a.Gamma = v
	}
	return nil
}

// keepWindows sets smoothing windows as rrdtool does when a file gets the version that stores them.
// Archives that a predictor has added by itself get 0; others keep the default of 0.05.
func (t *tuning) keepWindows() {
	if rrdfile.VersionOf(&t.Definition) >= 4 {
		return
	}
	for i := range t.Definition.Archives {
		if a := t.Definition.Archives[i:]; len(a) >= 5 && brought(a[:5], i) {
			a[1].SmoothingWindow, a[2].SmoothingWindow = 0, 0
		}
	}
}

// brought reports whether the five archives from index i on look like a predictor and the archives
// that it adds by itself.
func brought(a []rra.Archive, i int) bool {
	follows := func(k int, cf rra.CF, partner int, rows int64) bool {
		return a[k].CF == cf && a[k].Partner == i+partner && a[k].Rows == rows
	}
	return (a[0].CF == rra.HWPredict || a[0].CF == rra.MHWPredict) && a[0].Partner == i+1 &&
		follows(1, rra.Seasonal, 0, a[4].Rows) && follows(2, rra.DevSeasonal, 0, a[4].Rows) &&
		follows(3, rra.DevPredict, 2, a[0].Rows) && follows(4, rra.Failures, 2, a[4].Rows)
}

// delta sets half the width of the confidence band. A value outside the band is a violation.
func (t *tuning) delta(name, arg string) error {
	wrong := errors.New("Unable to parse parameter in set_deltaarg")
	v, err := rra.ParseNumber(arg)
	_, digits := rpn.ScanNumber(arg)
	unknown := math.IsNaN(v) || digits == 0
	switch {
	case unknown: // rrdtool reports it only if there is such an archive
	case err != nil:
		return wrong
	case v <= 0:
		return errors.New("Parameter specified is too small")
	}
	i := t.Archive(rra.Failures)
	switch {
	case i < 0:
		return errors.New("Failures RRA does not exist in this RRD")
	case unknown:
		return wrong
	}
	if name == "deltapos" {
		t.Definition.Archives[i].DeltaPos = v
	} else {
		t.Definition.Archives[i].DeltaNeg = v
	}
	return nil
}

// violations sets the length of the window, or how many violations in it are a failure. It forgets
// earlier violations.
func (t *tuning) violations(name, arg string) error {
	v, _ := scanInt(arg)
	count := int(int32(v)) // rrdtool cuts it to 32 bits
	if count < 1 || count > 28 {
		return errors.New("Parameter must be between 1 and 28")
	}
	i := t.Archive(rra.Failures)
	if i < 0 {
		return errors.New("Failures RRA does not exist in this RRD")
	}
	if name == "window-length" {
		t.Definition.Archives[i].Window = count
	} else {
		t.Definition.Archives[i].Threshold = count
	}
	for ds := range t.State.Archives[i].CDPs {
		t.State.Archives[i].CDPs[ds].History = ""
	}
	return nil
}
