package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
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

// FirstSecond is where rrdtool's time begins.
const FirstSecond = 3600 * 24 * 365 * 10

// Options say what a program is about.
type Options struct {
	Start, End int64     // seconds since 1970
	Step       int64     // least step of a row, in seconds, up to 2^31-1; DEF's step= asks for more
	Now        time.Time // the present, and the time zone
	WeekStart  time.Weekday
	Names      *Names // of days and months, for strftime; nil: POSIXNames
}

// A Source finds the series that a DEF names. Its errors are shown as they are.
type Source interface {
	// Open returns a series by its name; daemon is DEF's daemon=, "" if there is none.
	Open(ctx context.Context, name, daemon string) (query.Store, core.Ref, error)
}

// A Kind is what a line defines.
type Kind uint8

// The kinds of lines.
const (
	DEF Kind = iota
	CDEF
	VDEF
	SHIFT
	XPORT
)

// An Export is one XPORT line.
type Export struct {
	Variable int // for Program.Series
	Legend   string
}

// A Program is lines, and after Run what they define.
type Program struct {
	options Options
	elems   []element
	names   map[string]int // index of the first element that defines the name
	exports []Export
	marks   []mark
	ended   bool // by a colour that is none
}

// An element is a line that is understood.
type element struct {
	kind Kind
	name string
	def  *definition

	rpn  *rpn.Program // CDEF
	vars []int        // CDEF: the elements of its variables

	of        int // VDEF, SHIFT: the element it is about
	statistic rpn.Statistic
	at        int64 // VDEF: the time it is of, if it is timed
	timed     bool

	by     int // SHIFT: the VDEF that says by how much; -1: offset
	offset int64

	series rpn.Series // DEF, CDEF; VDEF: of step 0
	shift  int64      // that series has been moved by
}

// A definition is the rows that a DEF asks for.
type definition struct {
	file, daemon, ds string
	cf, reduce       rra.CF
	start, end, step int64
}

// New returns a program without lines.
func New(o Options) *Program {
	o.Step = min(o.Step, math.MaxInt32)
	return &Program{options: o, names: make(map[string]int)}
}

// Add reads one line of a graph. The error has rrdtool's words. As in rrdtool, a drawing line with
// an invalid colour ends the program without an error: Add ignores every line after it.
func (p *Program) Add(text string) error {
	if p.ended {
		return nil
	}
	l, err := parseLine(text)
	if err != nil {
		return err
	}
	switch l.function {
	case "DEF":
		err = p.addDEF(l)
	case "CDEF":
		err = p.addCDEF(l)
	case "VDEF":
		err = p.addVDEF(l)
	case "SHIFT":
		err = p.addShift(l)
	case "XPORT":
		err = p.addExport(l)
	default:
		if ok, err := p.addMark(l); ok {
			return err
		}
		return fmt.Errorf("'%s' is not a valid function name in %s", l.function, text)
	}
	if err != nil {
		return err
	}
	return l.done()
}

// Files returns the names that the DEFs among the lines give to series, each once, in order.
func (p *Program) Files() []string {
	var names []string
	for i := range p.elems {
		if d := p.elems[i].def; d != nil && !slices.Contains(names, d.file) {
			names = append(names, d.file)
		}
	}
	return names
}

// maxName is how much of a name is kept.
const maxName = 255

// defined adds an element with a name.
func (p *Program) defined(e element) {
	if len(e.name) > maxName {
		e.name = e.name[:maxName]
	}
	if _, ok := p.names[e.name]; !ok {
		p.names[e.name] = len(p.elems)
	}
	p.elems = append(p.elems, e)
}

// named takes the name and the first value of a line: NAME=VALUE, or by the keys vname and key.
func (l *line) named(key string) (name, value string, err error) {
	byName, byKey := l.byKey("vname"), l.byKey(key)
	if byName == nil || byKey == nil {
		a := l.next()
		switch {
		case a == nil:
			return "", "", fmt.Errorf("No argument for definition of vdef/rrd in %s", l.text)
		case byName == nil:
			name = a.key
		}
		value = a.value
	}
	if byName != nil {
		name = byName.value
	}
	if byKey != nil {
		value = byKey.value
	}
	return name, value, nil
}

func (p *Program) addDEF(l *line) error {
	d := &definition{step: p.options.Step}
	var err error
	reduce := l.byKey("reduce")
	if reduce != nil {
		if d.reduce, err = rra.ParseCF(reduce.value); err != nil {
			return fmt.Errorf("bad reduce CF: %s", reduce.value)
		}
	}
	if a := l.byKey("step"); a != nil {
		if d.step, err = integer(a.value); err != nil || d.step < 1 || d.step > math.MaxInt32 {
			return fmt.Errorf("Bad step value: %s", a.value)
		}
	}
	if err := d.times(l, p.options); err != nil {
		return err
	}
	if a := l.byKey("daemon"); a != nil {
		d.daemon = a.value
	}
	ds, cf := l.byKey("ds"), l.byKey("cf")
	var name string
	if name, d.file, err = l.named("rrd"); err != nil {
		return err
	}
	if ds == nil {
		ds = l.next()
	}
	if ds == nil {
		return fmt.Errorf("No argument for definition of DS in %s", l.text)
	}
	d.ds = ds.value
	if cf == nil {
		cf = l.next()
	}
	if cf == nil {
		return fmt.Errorf("No argument for definition of CF in %s", l.text)
	}
	if d.cf, err = rra.ParseCF(cf.value); err != nil {
		if _, ok := p.names[name]; ok {
			return fmt.Errorf("trying to reuse vname %s", name)
		}
		return fmt.Errorf("bad CF: %s", cf.value)
	}
	if reduce == nil {
		d.reduce = d.cf
	}
	p.defined(element{kind: DEF, name: name, def: d})
	return nil
}

// integer reads an int as rrdtool does: blanks may stand before it.
func integer(text string) (int64, error) {
	return strconv.ParseInt(strings.TrimLeft(text, " \t\n\v\f\r"), 10, 64)
}

// times reads start= and end=, which may refer to each other and to the ends of the whole.
func (d *definition) times(l *line, o Options) error {
	d.start, d.end = o.Start, o.End
	start, end := l.byKey("start"), l.byKey("end")
	if start == nil && end == nil {
		return nil
	}
	given := func(a *argument, otherwise int64, what string) (attime.Time, error) {
		if a == nil {
			return attime.Parse("now", time.Unix(otherwise, 0).In(o.Now.Location()))
		}
		t, err := attime.Parse(a.value, o.Now)
		if err != nil {
			return t, fmt.Errorf("%s time: %w", what, err)
		}
		return t, nil
	}
	s, err := given(start, o.Start, "start")
	if err != nil {
		return err
	}
	e, err := given(end, o.End, "end")
	if err != nil {
		return err
	}
	if d.start, d.end, err = attime.Resolve(s, e); err != nil {
		return err
	}
	return CheckRange(d.start, d.end)
}

// CheckRange says what rrdtool says of the two ends of a range.
func CheckRange(start, end int64) error {
	switch {
	case start < FirstSecond:
		return fmt.Errorf("the first entry to fetch should be after 1980 (%d)", start)
	case end < start:
		return fmt.Errorf("start (%d) should be less than end (%d)", start, end)
	}
	return nil
}

// newName takes the name and the value of a CDEF or VDEF.
func (p *Program) newName(l *line) (name, value string, err error) {
	if name, value, err = l.named("rpn"); err != nil {
		return "", "", err
	}
	if _, ok := p.names[name]; ok {
		return "", "", fmt.Errorf("trying to reuse vname %s", name)
	}
	return name, value, nil
}

func (p *Program) addCDEF(l *line) error {
	name, expr, err := p.newName(l)
	if err != nil {
		return err
	}
	e := element{kind: CDEF, name: name}
	var names []string
	self := -1
	seen := make(map[string]bool)
	for word := range strings.SplitSeq(expr, ",") {
		if name, ok := strings.CutPrefix(word, "PREV("); ok {
			word = strings.TrimSuffix(name, ")")
		}
		i, ok := p.names[word]
		if !ok && word == name && self < 0 {
			self, i, ok = len(names), -1, true
		}
		if ok && !seen[word] && isName(word) {
			seen[word] = true
			names, e.vars = append(names, word), append(e.vars, i)
		}
	}
	if e.rpn, err = rpn.Compile(expr, names); err != nil {
		return err
	}
	if self >= 0 { // rrdtool crashes when it calculates
		if err := l.done(); err != nil {
			return err
		}
		return fmt.Errorf("don't understand '%s': it is not known yet", name)
	}
	p.defined(e)
	return nil
}

// isName reports whether an expression can mention a name: others may be exported, and no more.
func isName(s string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func (p *Program) addVDEF(l *line) error {
	name, text, err := p.newName(l)
	if err != nil {
		return err
	}
	variable, function, ok := strings.Cut(text, ",")
	if !ok {
		return fmt.Errorf("Comma expected in VDEF definition %s", text)
	}
	e := element{kind: VDEF, name: name}
	if e.of, ok = p.names[variable]; !ok && variable != name {
		return fmt.Errorf("Not a valid vname: %s in line %s", variable, text)
	}
	if !ok || p.elems[e.of].kind == VDEF {
		return fmt.Errorf("variable '%s' not DEF nor CDEF in VDEF '%s'", variable, text)
	}
	if e.statistic, err = rpn.ParseStatistic(name, function); err != nil {
		return err
	}
	p.defined(e)
	return nil
}

func (p *Program) addShift(l *line) error {
	name := l.byKey("vname")
	if name == nil {
		name = l.next()
	}
	if name == nil {
		return fmt.Errorf("No argument for definition of vdef/rrd in %s", l.text)
	}
	e := element{kind: SHIFT, by: -1}
	var ok bool
	if e.of, ok = p.names[name.value]; !ok {
		return fmt.Errorf("vname %s not found", name.value)
	}
	if p.elems[e.of].kind == VDEF {
		return fmt.Errorf("Cannot shift a VDEF: '%s' in line '%s'\n", name.value, l.text)
	}
	offset := l.byKey("shift")
	if offset == nil {
		offset = l.next()
	}
	if offset == nil {
		return errors.New("No shift given")
	}
	if by, ok := p.names[offset.value]; ok {
		if p.elems[by].kind != VDEF {
			return fmt.Errorf("Offset cannot be a (C)DEF: '%s' in line '%s'\n", offset.value, l.text)
		}
		e.by = by
	} else {
		var err error
		if e.offset, err = integer(offset.value); err != nil {
			return fmt.Errorf("error parsing number %s", offset.value)
		}
	}
	p.elems = append(p.elems, e)
	return nil
}

func (p *Program) addExport(l *line) error {
	name, legend := l.byKey("vname"), l.byKey("legend")
	if name == nil {
		name = l.next()
	}
	if name == nil {
		return errors.New("No positional VNAME")
	}
	i, ok := p.names[name.value]
	if !ok {
		if _, err := rra.ParseNumber(name.value); err != nil || name.value == "" {
			return fmt.Errorf("%s is not a vname nor a number", name.value)
		}
		return fmt.Errorf("Encountered unknown type variable '' in line '%s'", l.text)
	}
	if p.elems[i].kind == VDEF {
		return fmt.Errorf("Cannot shift a VDEF: '%s' in line '%s'\n", name.value, l.text)
	}
	x := Export{Variable: i}
	if legend != nil {
		x.Legend = legend.value
	} else if legend = l.next(); legend != nil {
		x.Legend = legend.text
	}
	p.exports = append(p.exports, x)
	return nil
}
