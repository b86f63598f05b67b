package rra

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/rra/rpn"
)

// dataSourceForm matches a data source: name, mapped name, number of the source, kind, the rest. It
// is compiled when the first data source is parsed: that takes 0.2 ms, and most commands parse
// none.
var dataSourceForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^DS:([-a-zA-Z0-9_]{1,19})(?:=([-a-zA-Z0-9_]{1,19})(?:\[([0-9]+)\])?)?:([A-Z]{1,19}):((?s:.+))$`)
})

// ParseDefinition parses the arguments of `rrdtool create` that define a series: DS:… and RRA:…, in
// any order. Archives may also be in the words of [ParseRetention]. As in rrdtool, HWPREDICT and
// MHWPREDICT without an rra-num add SEASONAL, DEVSEASONAL, DEVPREDICT and FAILURES archives. step
// is in seconds.
//
// A *[ParseError] is an error of rrdtool. A *[FieldError] is rondo's own: rrdtool accepts the text,
// but cannot work with it. The definition is valid if there is no error.
func ParseDefinition(step int64, args []string) (*Definition, error) {
	if err := checkStep(step); err != nil {
		return nil, err
	}
	if err := checkArguments(args); err != nil {
		return nil, err
	}
	d := &Definition{Step: step}
	var implied []int
	for _, arg := range args {
		var err error
		n := len(d.Archives)
		switch {
		case strings.HasPrefix(arg, "DS:"):
			err = d.addSource(arg)
		case strings.HasPrefix(arg, "RRA:"):
			err = d.addArchive(arg)
			if len(d.Archives) > n+1 {
				implied = append(implied, n+1, n+2)
			}
		case IsRetention(arg):
			err = d.addRetention(arg)
		default:
			err = refuse("can't parse argument '%s'", arg)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case len(d.Archives) == 0:
		return nil, refuse("you must define at least one Round Robin Archive")
	case len(d.Sources) == 0:
		return nil, refuse("you must define at least one Data Source")
	}
	d.setImpliedWindows(implied)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return d, nil
}

// checkArguments refuses more data sources and archives than a series can have. It is called before
// any of them is parsed.
func checkArguments(args []string) error {
	sources, archives := 0, 0
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "DS:"):
			sources++
		case strings.HasPrefix(arg, "RRA:"):
			archives++
		}
	}
	return checkCounts(sources, archives)
}

// addRetention adds the archives of a text for ParseRetention.
func (d *Definition) addRetention(text string) error {
	parts, err := parseRetention(text)
	if err != nil {
		return refuse("%v", err)
	}
	if err := checkCounts(0, len(d.Archives)+len(parts)); err != nil {
		return err
	}
	if err := fit(parts, d.Step); err != nil {
		return &ParseError{Text: err.Error(), Err: err}
	}
	for _, r := range parts {
		if err := d.addArchive(r.String()); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

// setImpliedWindows sets the smoothing window of archives that a predictor has added. rrdtool gives
// them none in files of version 4 and later. MHWPREDICT, a smoothing window, DCOUNTER and DDERIVE
// make such files.
func (d *Definition) setImpliedWindows(implied []int) {
	newer := slices.ContainsFunc(d.Sources, func(s DataSource) bool { return s.Kind == DCounter || s.Kind == DDerive }) ||
		slices.ContainsFunc(d.Archives, func(a Archive) bool {
			return a.CF == MHWPredict || (a.CF == Seasonal || a.CF == DevSeasonal) && !math.IsNaN(a.SmoothingWindow)
		})
	if !newer {
		return
	}
	for _, i := range implied {
		d.Archives[i].SmoothingWindow = 0
	}
}

// Validate returns an error if [Compile] would refuse the definition.
func (d *Definition) Validate() error {
	if err := d.check(); err != nil {
		return err
	}
	for i := range d.Sources {
		if d.Sources[i].Kind != Compute {
			continue
		}
		if err := checkExpression(d.Sources[i].Expr, d.Sources[:i]); err != nil {
			return &FieldError{fmt.Sprintf("ds[%d].expr", i), err.Error()}
		}
	}
	return nil
}

func (d *Definition) addSource(arg string) error {
	s, err := parseDataSource(arg, d.Sources)
	if err != nil {
		return err
	}
	d.Sources = append(d.Sources, s)
	if s.Kind == Compute {
		return checkComputes(d.Sources)
	}
	return nil
}

// ParseDataSource parses a data source, DS:name:kind:heartbeat:min:max. A COMPUTE expression needs
// the sources that it refers to: use [ParseDefinition]. A mapping, DS:name=mapped[source]:…, is
// ignored: see [ParseMapping].
func ParseDataSource(arg string, step int64) (DataSource, error) {
	return parseDataSource(arg, nil)
}

// A Mapping names the data source, and its source file, that a new data source is filled from.
type Mapping struct {
	Name   string // of the data source in the source file
	Source int    // number of the source file, from 1 on; 0: every file that has it; -1: no file
}

// ParseMapping returns the mapping of a data source, DS:name=mapped[source]:…, if it has one.
// Source files are counted from 1 on: [0] is a number of none of them.
func ParseMapping(arg string) (Mapping, bool) {
	m := dataSourceForm().FindStringSubmatch(arg)
	if m == nil || m[2] == "" {
		return Mapping{}, false
	}
	out := Mapping{Name: m[2]}
	if m[3] == "" {
		return out, true
	}
	if n, err := strconv.Atoi(m[3]); err == nil && n > 0 {
		out.Source = n
	} else {
		out.Source = -1
	}
	return out, true
}

func parseDataSource(arg string, before []DataSource) (DataSource, error) {
	m := dataSourceForm().FindStringSubmatch(arg)
	if m == nil {
		return DataSource{}, refuse("invalid DS format")
	}
	for i := range before {
		if before[i].Name == m[1] {
			return DataSource{}, refuse("Duplicate DS name: %s", m[1])
		}
	}
	kind, err := ParseKind(m[4])
	if err != nil {
		return DataSource{}, err
	}
	s := DataSource{Name: m[1], Kind: kind, Min: math.NaN(), Max: math.NaN()}
	if kind == Compute {
		s.Expr = m[5]
		if err := checkExpression(s.Expr, before); err != nil {
			return DataSource{}, err
		}
		return s, nil
	}
	if err := s.parseLimits(m[5]); err != nil {
		return DataSource{}, err
	}
	return s, nil
}

// checkExpression returns an error unless expr is a COMPUTE expression over sources.
func checkExpression(expr string, sources []DataSource) error {
	names := make([]string, len(sources))
	for i := range sources {
		names[i] = sources[i].Name
	}
	p, err := rpn.Compile(expr, names)
	if err != nil {
		return refuse("failed to parse computed data source")
	}
	if err := p.CheckCompute(); errors.Is(err, rpn.ErrComputeNow) {
		return &FieldError{"expr", err.Error()}
	} else if err != nil {
		return refuse("%v", err)
	}
	return nil
}

// parseLimits parses heartbeat:min:max.
func (s *DataSource) parseLimits(text string) error {
	fail := func(err any) error { return refuse("failed to parse data source %s: %v", text, err) }
	heartbeat, rest, ok := strings.Cut(text, ":")
	if !ok {
		return fail("missing separator")
	}
	hb, err := ParseDuration(heartbeat)
	var own *FieldError
	switch {
	case errors.As(err, &own):
		return &FieldError{"heartbeat", own.Err}
	case err != nil:
		return fail(err)
	}
	s.Heartbeat = hb
	low, high, ok := strings.Cut(rest, ":")
	high, _, _ = strings.Cut(high, ":")
	if !ok || low == "" || high == "" || len(low) > limitWidth && !isHex(low) {
		return fail("failed to extract min:max")
	}
	if s.Min, err = parseLimit(low); err != nil {
		return refuse("parsing min val - %v", err)
	}
	if len(high) > limitWidth && !isHex(high) {
		high = high[:limitWidth]
	}
	if s.Max, err = parseLimit(high); err != nil {
		return refuse("parsing max val - %v", err)
	}
	if s.Min >= s.Max {
		return fail("min must be less than max in DS definition")
	}
	return nil
}

func parseLimit(s string) (float64, error) {
	if s == "U" {
		return math.NaN(), nil
	}
	return parseExact(s)
}
