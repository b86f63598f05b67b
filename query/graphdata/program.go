package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"math"
	"slices"
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
