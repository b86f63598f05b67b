package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/reshape"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

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
