package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// FirstSecond is the earliest time that rrdtool accepts, in seconds since 1970. rrdtool calls it
// 1980, but it lies ten years of 365 days after 1970.
const FirstSecond = 3600 * 24 * 365 * 10

// Options are the range of time of a program and the surroundings of its lines.
type Options struct {
	Start, End int64     // seconds since 1970
	Step       int64     // smallest step of a row, in seconds; step= of a DEF replaces it
	Now        time.Time // the present; its location is the time zone
	WeekStart  time.Weekday
	Times      *attime.Reader // reads start= and end= of a DEF; nil means a new one
	Names      *Names         // names of days and months for strftime; nil means POSIXNames
	Point      Point          // of the numbers that Written returns

	// MissingIsUnknown makes a series that cannot be opened one of unknown rows, without an error.
	MissingIsUnknown bool
	// Work bounds the work of each CDEF, and the values of all CDEFs together. 0 means rpn.MaxWork
	// for each, and no bound together.
	Work int
}

// A Source finds the series that a DEF names. The program returns its errors unchanged.
type Source interface {
	// Open returns the store and the reference of the series with a name. daemon is the value of
	// the DEF's daemon=, or "".
	Open(ctx context.Context, name, daemon string) (query.Store, core.Ref, error)
}

// A Kind is the kind of a line that defines data.
type Kind uint8

// The kinds of lines that define data.
const (
	DEF Kind = iota
	CDEF
	VDEF
	SHIFT
)

// An Export is one XPORT line.
type Export struct {
	Variable int // argument of Program.Series
	Legend   string
}

// A Program is a list of lines and, after Run, the data that they define. Its methods are for one
// goroutine.
type Program struct {
	options Options
	elems   []element
	names   map[string]int  // index of the first element that defines the name
	twice   map[string]bool // names that a second line, a DEF, defines: no third one may
	exports []Export
	columns []Export // exports, and the columns that are drawn
	marks   []mark
	marked  bool // Marks has printed
	ended   bool // a colour was wrong: all further lines are ignored
	values  int  // of the CDEFs that were calculated
}

// An element is one line that defines data.
type element struct {
	kind Kind
	name string
	def  *definition

	rpn  *rpn.Program // CDEF
	vars []int        // CDEF: the elements of its variables

	of        int // VDEF, SHIFT: the element that the statistic or the shift is applied to
	statistic rpn.Statistic
	at        int64 // VDEF: the time of the result, seconds since 1970, if it has one
	timed     bool  // VDEF: the result has a time

	by     int   // SHIFT: the VDEF whose number is the offset; -1: offset says
	offset int64 // SHIFT: seconds

	series rpn.Series // the result; a VDEF's has step 0 and one value
	shift  int64      // seconds by which the last SHIFT moved the series
}

// A definition is the arguments of a DEF: the series, and which rows of it.
type definition struct {
	file, daemon, ds string
	cf, reduce       rra.CF
	start, end, step int64
}

// A MarkKind is the kind of a line that draws or prints.
type MarkKind uint8

// The kinds of marks.
const (
	PRINT MarkKind = iota
	GPRINT
	COMMENT
	TEXTALIGN
	LINE
	AREA
	STACK // a mark has this kind only if its colour is wrong; otherwise it has the kind below it
	TICK
	HRULE
	VRULE
	EXPORTED // an XPORT with a legend
)

// A Mark is a line that draws or prints, with the text that the line writes.
type Mark struct {
	Kind MarkKind
	Text string // the legend, the printed text, or the word of TEXTALIGN

	Drawing *Drawing // of LINE, AREA, TICK, HRULE and VRULE
}

// A mark is a Mark before its text is made.
type mark struct {
	Mark
	printed *printed // PRINT and GPRINT: what is printed by the format in Text
}

// A printed is the value that PRINT or GPRINT prints: a number, or a time.
type printed struct {
	of        int    // the element
	cf        rra.CF // how a column becomes one number
	time      bool   // the format is one of strftime
	formatter string // timestamp or duration, which xport ignores
}

// New returns a program without lines. It lowers o.Step to 2^31-1 if it is larger.
func New(o Options) *Program {
	o.Step = min(o.Step, math.MaxInt32)
	if o.Times == nil {
		o.Times = attime.NewReader(o.Now)
	}
	if o.Names == nil {
		o.Names = POSIXNames
	}
	return &Program{options: o, names: make(map[string]int), twice: make(map[string]bool)}
}

// Files returns the names of the series in the DEFs, each once, in order.
func (p *Program) Files() []string {
	var names []string
	for i := range p.elems {
		if d := p.elems[i].def; d != nil && !slices.Contains(names, d.file) {
			names = append(names, d.file)
		}
	}
	return names
}

// maxName bounds the name of a variable, in bytes. The rest is cut off.
const maxName = 255

// defined adds an element that has a name.
func (p *Program) defined(e element) {
	if len(e.name) > maxName {
		e.name = e.name[:maxName]
	}
	if _, ok := p.names[e.name]; !ok {
		p.names[e.name] = len(p.elems)
	}
	p.elems = append(p.elems, e)
}

// Marks returns the lines that draw and print, in order, with the texts that they write. Base, 1000
// or 1024, scales SI prefixes. Call it after Run.
func (p *Program) Marks(base int) ([]Mark, error) {
	p.marked = true
	return p.texts(base, p.print)
}

// texts returns the marks with the texts that print makes of those with a number.
func (p *Program) texts(base int, print func(x *printed, text string, s *printing) (string, error)) ([]Mark, error) {
	s := printing{at: p.options.Now, scale: scale{base: base}}
	out := make([]Mark, 0, len(p.marks))
	for i := range p.marks {
		m := p.marks[i].Mark
		if x := p.marks[i].printed; x != nil {
			if e := &p.elems[x.of]; e.kind == VDEF {
				s.at = time.Unix(e.at, 0).In(p.options.Now.Location())
			}
			var err error
			if m.Text, err = print(x, m.Text, &s); err != nil {
				return nil, err
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// A printing is the state that a line that prints leaves to the next one.
type printing struct {
	scale scale
	at    time.Time // the time of the last VDEF, which columns print too; at first the present
}

// print returns the text that PRINT or GPRINT prints by the format text.
func (p *Program) print(x *printed, text string, s *printing) (string, error) {
	e := &p.elems[x.of]
	if x.time {
		if e.kind == VDEF && !e.timed {
			return "", nil
		}
		return cut(p.options.Names.Strftime(text, s.at), maxPrinted), nil
	}
	f, ok := parseFormat(text)
	if !ok {
		return "", fmt.Errorf("bad format for PRINT in \"%s'", text)
	}
	v, prefix := s.scale.of(f.prefix, p.printedValue(x))
	return cut(string(f.append(nil, v, prefix)), maxPrinted), nil
}

// printedValue returns the number that PRINT or GPRINT prints.
func (p *Program) printedValue(x *printed) float64 {
	e := &p.elems[x.of]
	if e.kind == VDEF {
		return e.series.Values[0]
	}
	return consolidated(e.series, x.cf)
}

// consolidated reduces the finite values of a column to one number.
func consolidated(c rpn.Series, cf rra.CF) float64 {
	f := fold{cf: cf}
	for _, v := range c.Values {
		if !math.IsInf(v, 0) {
			f.add(v)
		}
	}
	return f.result()
}

// ErrDuration is the error for a format that no duration can be printed with.
var ErrDuration = errors.New("Wrong duration format")

// maxGPRINT is how many bytes of what GPRINT prints are kept.
const maxGPRINT = 197

// Written returns what the lines that draw and print write into a graph, in their order, after Run.
// It differs from [Program.Marks] as rrdtool's graph differs from its xport: numbers have the
// digits of C's printf, valstrftime and valstrfduration hold, and base, 1000 or 1024, scales SI
// prefixes. After Marks a %S is a %s: rrdtool, too, forgets the difference when it has printed
// once.
func (p *Program) Written(base int) ([]Mark, error) {
	out, err := p.texts(base, p.write)
	for i := range out {
		if out[i].Kind == GPRINT {
			out[i].Text = cut(out[i].Text, maxGPRINT)
		}
	}
	return out, err
}

// write returns what PRINT or GPRINT writes into a graph.
func (p *Program) write(x *printed, text string, s *printing) (string, error) {
	names, e := p.options.Names, &p.elems[x.of]
	switch {
	case x.time && e.kind == VDEF && !e.timed:
		return dashesOf(text), nil
	case x.time:
		return names.Strftime(text, s.at), nil
	case x.formatter == "timestamp":
		return names.FormatTimestamp(text, p.printedValue(x)), nil
	case x.formatter == "duration":
		out, ok := FormatDuration(text, p.printedValue(x), p.options.Point)
		if !ok {
			return "", ErrDuration
		}
		return out, nil
	}
	f, ok := ParseCFormat(text, true)
	if !ok {
		return "", BadFormat(strings.Replace(text, "%S", "%s", 1), true) // rrdtool has written it over
	}
	if p.marked && f.prefix == 'S' {
		f.prefix = 's'
	}
	v, prefix := s.scale.of(f.prefix, p.printedValue(x))
	return string(f.Append(nil, v, prefix, p.options.Point)), nil
}

// BadFormat returns the error for a format that no number can be printed with. prefixed is the
// argument of [ParseCFormat].
func BadFormat(text string, prefixed bool) error {
	const number, end = `^(?:[^%]+|%%)*%[-+ 0#]?[0-9]*(?:[.][0-9]+)?l[eEfFgG](?:[^%]+|%%)*`, `$`
	var prefix strings.Builder
	if prefixed {
		prefix.WriteString(`(?:%[sS])?(?:[^%]+|%%)*`)
	}
	return fmt.Errorf("invalid format string '%s' (should match '%s')", text, number+prefix.String()+end)
}

// A Drawing is how LINE, AREA, TICK, HRULE or VRULE draws.
type Drawing struct {
	Variable int           // what is drawn, for Program.Series; -1: Value
	Value    float64       // a number that stands in the line itself
	Colors   []color.NRGBA // one; of an AREA with a gradient two; none: nothing is drawn
	Width    float64       // of LINE in pixels
	Dashes   []float64     // lengths in pixels, drawn and not drawn in turn; none: a whole line
	Offset   float64       // of the dashes, in pixels

	Stack     bool // on what stands before it
	SkipScale bool // it does not count for the limits

	GradHeight float64 // of AREA: over how many pixels the colour changes
	Fraction   float64 // of TICK: how much of the height is drawn
}

// defaultGradHeight is the height of a gradient, in pixels, where none is given.
const defaultGradHeight = 50

// ParseColor reads RGB, RGBA, RRGGBB or RRGGBBAA in hexadecimal digits.
func ParseColor(text string) (c color.NRGBA, ok bool) {
	switch len(text) {
	case 3, 4:
		long := make([]byte, 0, 8)
		for i := range len(text) {
			long = append(long, text[i], text[i])
		}
		text = string(long)
	case 6, 8:
	default:
		return c, false
	}
	if len(text) == 6 {
		text += "ff"
	}
	n, err := strconv.ParseUint(text, 16, 32)
	return color.NRGBA{R: uint8(n >> 24), G: uint8(n >> 16), B: uint8(n >> 8), A: uint8(n)}, err == nil
}

// dashLengths returns the lengths in an argument, which are drawn and left out in turn: numbers
// with commas between them. An odd number of lengths is gone through twice, so that each is drawn
// once and left out once.
func dashLengths(text string) (lengths []float64, err error) {
	for {
		v, n := rpn.ScanNumber(text)
		if n == 0 {
			return nil, fmt.Errorf("Could not parse number: %s", text)
		}
		lengths = append(lengths, v)
		if text = text[n:]; text == "" {
			return lengths, nil
		}
		if text[0] != ',' {
			return nil, fmt.Errorf("expected a ',' at : %s", text)
		}
		text = text[1:]
	}
}
