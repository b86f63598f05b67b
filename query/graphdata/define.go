package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// named takes the name and the first value of a line. They are given as NAME=VALUE, or by the keys
// vname and key.
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
	if ds, err = l.or(ds, "No argument for definition of DS in "+l.text); err != nil {
		return err
	}
	d.ds = ds.value
	if cf, err = l.or(cf, "No argument for definition of CF in "+l.text); err != nil {
		return err
	}
	d.cf, err = rra.ParseCF(cf.value)
	if _, ok := p.names[name]; ok {
		if err != nil || p.twice[name] {
			return fmt.Errorf("trying to reuse vname %s", name)
		}
		p.twice[name] = true
	}
	if err != nil {
		return fmt.Errorf("bad CF: %s", cf.value)
	}
	if reduce == nil {
		d.reduce = d.cf
	}
	p.defined(element{kind: DEF, name: name, def: d})
	return nil
}

// integer reads an integer as rrdtool does: blanks may precede it.
func integer(text string) (int64, error) {
	return strconv.ParseInt(strings.TrimLeft(text, " \t\n\v\f\r"), 10, 64)
}

// times reads start= and end=. They may refer to each other. One that is missing is the start or
// the end of the whole program.
func (d *definition) times(l *line, o Options) error {
	given := func(a *argument, otherwise int64, what string) (attime.Time, error) {
		if a == nil {
			return o.Times.At(otherwise), nil
		}
		t, err := o.Times.Parse(a.value)
		if err != nil {
			return t, fmt.Errorf("%s time: %w", what, err)
		}
		return t, nil
	}
	start, end := l.byKey("start"), l.byKey("end")
	s, err := given(start, o.Start, "start")
	if err != nil {
		return err
	}
	e, err := given(end, o.End, "end")
	if err != nil {
		return err
	}
	if d.start, d.end, err = o.Times.Resolve(s, e); err != nil || start == nil && end == nil {
		return err
	}
	return CheckRange(d.start, d.end)
}

// CheckRange returns rrdtool's error if a range, in seconds since 1970, begins too early or ends
// before its start.
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
	if self >= 0 { // rrdtool accepts this line and crashes when it calculates
		if err := l.done(); err != nil {
			return err
		}
		return fmt.Errorf("don't understand '%s': it is not known yet", name)
	}
	p.defined(e)
	return nil
}

// isName reports whether an expression can mention a name. Variables with other names can only be
// exported.
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
	name, err := l.or(l.byKey("vname"), "No argument for definition of vdef/rrd in "+l.text)
	if err != nil {
		return err
	}
	e := element{kind: SHIFT, by: -1}
	var ok bool
	if e.of, ok = p.names[name.value]; !ok {
		return fmt.Errorf("vname %s not found", name.value)
	}
	if p.elems[e.of].kind == VDEF {
		return fmt.Errorf("Cannot shift a VDEF: '%s' in line '%s'\n", name.value, l.text)
	}
	offset, err := l.or(l.byKey("shift"), "No shift given")
	if err != nil {
		return err
	}
	if by, ok := p.names[offset.value]; ok {
		if p.elems[by].kind != VDEF {
			return fmt.Errorf("Offset cannot be a (C)DEF: '%s' in line '%s'\n", offset.value, l.text)
		}
		e.by = by
	} else if e.offset, err = integer(offset.value); err != nil {
		return fmt.Errorf("error parsing number %s", offset.value)
	}
	p.elems = append(p.elems, e)
	return nil
}

func (p *Program) addExport(l *line) error {
	name, legend := l.byKey("vname"), l.byKey("legend")
	name, err := l.or(name, "No positional VNAME")
	if err != nil {
		return err
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
	text := ""
	if legend != nil {
		text = legend.value
	} else if legend = l.next(); legend != nil {
		text = legend.text
	}
	x.Legend = withoutBlanks(text)
	if text != "" {
		p.marks = append(p.marks, mark{Mark: Mark{Kind: EXPORTED, Text: cut(text, maxLegend)}})
	}
	p.exports, p.columns = append(p.exports, x), append(p.columns, x)
	return nil
}

// withoutBlanks is the legend of a column: as in rrdtool, without the blanks that it begins with.
func withoutBlanks(legend string) string { return strings.TrimLeft(legend, " \t\n\v\f\r") }
