package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"fmt"
	"math"
	"time"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

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
