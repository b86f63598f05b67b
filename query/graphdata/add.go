package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import "fmt"

// Add reads one line of a graph. The text of its error is rrdtool's. As in rrdtool, a drawing line
// with an invalid colour ends the program without an error: Add ignores every line after it.
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
