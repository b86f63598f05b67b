package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/rra"
)

// maxLegend bounds a legend, in bytes. The rest is cut off.
const maxLegend = maxFormat

var markFunctions = map[string]MarkKind{
	"PRINT": PRINT, "GPRINT": GPRINT, "COMMENT": COMMENT, "TEXTALIGN": TEXTALIGN, "AREA": AREA, "STACK": STACK, "TICK": TICK,
	"HRULE": HRULE, "VRULE": VRULE,
}

// addMark reads a line that draws or prints. ok is false if the line does neither.
func (p *Program) addMark(l *line) (ok bool, err error) {
	kind, ok := markFunctions[l.function]
	width, isLine := strings.CutPrefix(l.function, "LINE")
	if isLine {
		kind, ok = LINE, true
	}
	if !ok {
		return false, nil
	}
	m := mark{Mark: Mark{Kind: kind}}
	whole := true
	switch kind {
	case PRINT, GPRINT:
		err = p.addPrint(l, &m)
	case COMMENT:
		err = m.comment(l)
	case TEXTALIGN:
		err = m.align(l)
	default:
		whole, err = p.addDrawing(l, &m, width)
	}
	if err == nil && whole {
		err = l.done()
	}
	if err != nil {
		return true, err
	}
	p.marks, p.ended = append(p.marks, m), !whole
	return true, nil
}

func (m *mark) comment(l *line) error {
	a, err := l.or(l.byKey("legend"), "No positional CF/FORMAT")
	if err != nil {
		return err
	}
	m.Text = cut(a.whole("legend"), maxLegend)
	return nil
}

func (m *mark) align(l *line) error {
	a, err := l.or(l.byKey("align"), "No alignment given")
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"left", "right", "justified", "center"}, a.value) {
		return fmt.Errorf("Unknown alignment type '%s'", a.value)
	}
	m.Text = a.value
	return nil
}

// addPrint reads PRINT:VDEF:FORMAT and PRINT:VARIABLE:CF:FORMAT.
func (p *Program) addPrint(l *line, m *mark) error {
	x := &printed{time: l.byKey("strftime") != nil}
	if a := l.byKey("vformatter"); a != nil {
		if !slices.Contains([]string{"timestamp", "duration", "numeric"}, a.value) {
			return fmt.Errorf("Unsupported vformatter: %s", a.value)
		}
		x.formatter = a.value
	}
	cf, format := l.byKey("cf"), l.byKey("format")
	if cf != nil {
		if _, err := rra.ParseCF(cf.value); err != nil {
			return fmt.Errorf("bad CF: %s", cf.value)
		}
	}
	name, err := l.or(l.byKey("vname"), "No positional VNAME")
	if err != nil {
		return err
	}
	vname := name.whole("vname")
	of, ok := p.names[vname]
	if !ok && name.keyed && name.key == "vname" {
		return fmt.Errorf("vname %s not found", vname)
	}
	if !ok {
		return fmt.Errorf("undefined vname %s", vname)
	}
	x.of = of
	if p.elems[of].kind != VDEF {
		if cf, err = l.or(cf, "No positional CDEF"); err != nil {
			return err
		}
		if x.cf, err = rra.ParseCF(cf.value); err != nil {
			return fmt.Errorf("bad CF for DEF/CDEF: %s", cf.value)
		}
	}
	if format, err = l.or(format, "No positional CF/FORMAT"); err != nil {
		return err
	}
	m.Text = cut(format.whole("format"), maxFormat)
	m.printed = x
	return nil
}

// A painting is the arguments of a line that draws: the variable, its colours, the fraction of a
// TICK, the legend.
type painting struct {
	vname            string
	colors           []string
	fraction, legend *argument
}

// painting takes the arguments NAME[#COLOR[#COLOR]][:FRACTION][:LEGEND], or takes them by their
// keys.
func (l *line) painting(kind MarkKind) (x painting, err error) {
	name, first, second := l.byKey("vname"), l.byKey("color"), l.byKey("color2")
	x.legend = l.byKey("legend")
	if kind == TICK {
		x.fraction = l.byKey("fraction")
	}
	if name, err = l.or(name, "No positional VNAME"); err != nil {
		return x, err
	}
	if kind == TICK {
		if x.fraction, err = l.or(x.fraction, "No positional FRACTION"); err != nil {
			return x, err
		}
	}
	if x.legend == nil {
		x.legend = l.next()
	}
	var colors string
	var painted bool
	if x.vname, colors, painted = strings.Cut(name.value, "#"); painted {
		x.colors = strings.SplitN(colors, "#", 2)
	}
	if first != nil {
		x.colors = append([]string{first.value}, x.colors[min(len(x.colors), 1):]...)
	}
	if second != nil {
		x.colors = append(x.colors, second.value)
	}
	return x, nil
}

// addDrawing reads a line that draws. It returns false if a colour is wrong: rrdtool then ignores
// the rest of this line and all lines after it, without an error. The data formats still have a
// column of such a LINE or AREA, without a legend.
func (p *Program) addDrawing(l *line, m *mark, width string) (whole bool, err error) {
	m.Drawing = &Drawing{Variable: -1, Width: 1, GradHeight: defaultGradHeight}
	if err := m.style(l, width); err != nil {
		return false, err
	}
	x, err := l.painting(m.Kind)
	if err != nil {
		return false, err
	}
	of, isVariable := p.names[x.vname]
	if isVariable {
		m.Drawing.Variable = of
	} else if m.Drawing.Value, err = rra.ParseNumber(x.vname); err != nil {
		return false, fmt.Errorf("%s is not a vname nor a number", x.vname)
	}
	for _, text := range x.colors {
		c, ok := ParseColor(text)
		if !ok {
			p.addColumn(m, "")
			return false, nil
		}
		m.Drawing.Colors = append(m.Drawing.Colors, c)
	}
	if x.fraction != nil {
		if m.Drawing.Fraction, err = rra.ParseNumber(x.fraction.value); err != nil {
			return false, fmt.Errorf("error parsing number %s", x.vname)
		}
	}
	if x.legend != nil {
		m.Text = cut(x.legend.whole("legend"), maxLegend)
	}
	text := m.Text
	switch m.Kind {
	case HRULE, VRULE:
		if isVariable && p.elems[of].kind != VDEF {
			return false, fmt.Errorf("Using vname %s of wrong type in line %s\n", x.vname, l.text)
		}
	case STACK:
		last := p.lastDrawn()
		if last == nil {
			return false, fmt.Errorf("No previous LINE or AREA found for %s", l.text)
		}
		m.Kind, m.Drawing.Stack, m.Drawing.Width = last.Kind, true, last.Drawing.Width
	}
	if m.Kind == AREA && m.Text != "" {
		m.Text = "  " + m.Text
	}
	p.addColumn(m, withoutBlanks(text))
	return true, nil
}

// addColumn adds what a LINE or AREA of a DEF or CDEF writes into the data formats.
func (p *Program) addColumn(m *mark, legend string) {
	if of := m.Drawing.Variable; (m.Kind == AREA || m.Kind == LINE) && of >= 0 && p.elems[of].kind != VDEF {
		p.columns = append(p.columns, Export{Variable: of, Legend: legend})
	}
}

// lastDrawn returns the last LINE or AREA, which a STACK is stacked on, or nil if the program has
// neither.
func (p *Program) lastDrawn() *mark {
	for i := len(p.marks) - 1; i >= 0; i-- {
		if k := p.marks[i].Kind; k == LINE || k == AREA {
			return &p.marks[i]
		}
	}
	return nil
}

// style takes and checks the arguments for the appearance: line width, gradient, dashes, stacking.
func (m *mark) style(l *line, width string) (err error) {
	if m.Kind == LINE {
		if width == "" {
			if a := l.byKey("linewidth"); a != nil {
				width = a.value
			}
		}
		if width != "" {
			if m.Drawing.Width, err = rra.ParseNumber(width); err != nil || m.Drawing.Width < 0 {
				return fmt.Errorf("Bad line width: %s", width)
			}
		}
	}
	if m.Kind == AREA {
		if a := l.byKey("gradheight"); a != nil {
			if m.Drawing.GradHeight, err = rra.ParseNumber(a.value); err != nil {
				return fmt.Errorf("Bad gradheight: %s", a.value)
			}
		}
	}
	if m.Kind == LINE || m.Kind == AREA {
		m.Drawing.Stack = l.byKey("stack") != nil
		m.Drawing.SkipScale = l.byKey("skipscale") != nil
	}
	if m.Kind == LINE || m.Kind == HRULE || m.Kind == VRULE {
		return m.dashes(l)
	}
	return nil
}

// dashes takes and checks the arguments for dashes.
func (m *mark) dashes(l *line) (err error) {
	if a := l.byKey("dashes"); a != nil {
		if m.Drawing.Dashes, err = dashLengths(a.value); err != nil {
			return err
		}
	}
	if a := l.byKey("dash-offset"); a != nil {
		if m.Drawing.Offset, err = rra.ParseNumber(a.value); err != nil {
			return fmt.Errorf("Could not parse dash-offset: %s", a.value)
		}
	}
	return nil
}
