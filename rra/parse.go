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

// limitWidth is how many characters of a minimum or maximum rrdtool reads: a
// longer minimum does not parse, a longer maximum is cut.
const limitWidth = 18

// A ParseError is what rrdtool says of a text that it does not take.
type ParseError struct {
	Text string
	Err  error // tells a program more, as a *RowError does; nil: there is nothing more
}

func (e *ParseError) Error() string { return e.Text }

func (e *ParseError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error { return &ParseError{Text: fmt.Sprintf(format, args...)} }

// dataSourceForm is what a data source looks like: name, mapped name, number of
// the source, kind, the rest. Most commands parse none, so it is compiled when the first one is
// parsed: that takes 0.2 ms.
var dataSourceForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^DS:([-a-zA-Z0-9_]{1,19})(?:=([-a-zA-Z0-9_]{1,19})(?:\[([0-9]+)\])?)?:([A-Z]{1,19}):((?s:.+))$`)
})

// ParseDefinition reads the arguments of `rrdtool create` that say what a series keeps: DS:… and
// RRA:…, in any order; archives may also stand in the words of [ParseRetention]. Without an
// rra-num, HWPREDICT and MHWPREDICT bring SEASONAL, DEVSEASONAL, DEVPREDICT and FAILURES archives
// along, as in rrdtool.
//
// A *[ParseError] is rrdtool's. A *[FieldError] is rondo's own, of what rrdtool takes
// but cannot work with. The result is valid.
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
	d.settleImplied(implied)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return d, nil
}

// checkArguments refuses more data sources and archives than a series can have, before any is
// parsed.
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

// addRetention adds the archives of plain words.
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

// settleImplied sets the smoothing window of archives that a predictor brought along: none in files
// of version 4 and later, which MHWPREDICT, a smoothing window, DCOUNTER and DDERIVE make.
func (d *Definition) settleImplied(implied []int) {
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

// Validate reports whether the definition is one that [Compile] takes.
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

func checkStep(step int64) error {
	if step < 1 || step > maxStep {
		return &FieldError{"step", fmt.Sprintf("%d is not in 1..%d", step, int64(maxStep))}
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

// ParseDataSource reads a data source, DS:name:kind:heartbeat:min:max. A COMPUTE
// expression can only be read beside the sources that it refers to, by
// [ParseDefinition]. A mapping, DS:name=mapped[source]:…, is passed over: see
// [ParseMapping].
func ParseDataSource(arg string, step int64) (DataSource, error) {
	return parseDataSource(arg, nil)
}

// A Mapping says from which data source of which file a new one is filled.
type Mapping struct {
	Name   string // data source in the source
	Source int    // number of the source, from 1; 0: the first that has it
}

// ParseMapping returns the mapping of a data source, DS:name=mapped[source]:…,
// if it has one.
func ParseMapping(arg string) (Mapping, bool) {
	m := dataSourceForm().FindStringSubmatch(arg)
	if m == nil || m[2] == "" {
		return Mapping{}, false
	}
	n, err := strconv.Atoi(m[3])
	if err != nil && m[3] != "" {
		return Mapping{}, false
	}
	return Mapping{Name: m[2], Source: n}, true
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

// checkExpression reports whether expr is a COMPUTE expression over sources.
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

// parseLimits reads heartbeat:min:max.
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
