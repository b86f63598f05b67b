package rrdfile

import (
	"fmt"
)

// XMLOptions say how a dump is read.
type XMLOptions struct {
	// RangeCheck makes rows unknown that are not between the minimum and maximum of their data
	// source, as `rrdtool restore --range-check` does: in all archives, whatever their CF.
	RangeCheck bool

	// WholeHistory keeps all of the history of FAILURES, of which rrdtool's restore keeps the
	// newest ten PDPs.
	WholeHistory bool
}

// A restorer reads the elements of a dump.
type restorer struct {
	x *xmlReader
	o XMLOptions
	f *File

	// what rrdtool makes a file of that it cannot read: it has more to say of what comes behind it
	unusable error
}

func (p *restorer) ok() bool { return p.x.err == nil }

// child finds the next element inside the one that was opened last; not ok at its end.
func (p *restorer) child() (name string, ok bool) {
	switch p.x.next() {
	case xmlOpen:
		return p.x.name, true
	case xmlText:
		p.x.fail("line", "expected element but found text '%s'", p.x.rest)
	}
	return "", false
}

// word returns the text of the element that was opened last: its first word, which is valid until
// the next. It takes the end of the element, too.
func (p *restorer) word() []byte {
	switch p.x.next() {
	case xmlText:
		p.endOf(p.x.open[len(p.x.open)-1])
		return p.x.word
	case xmlOpen:
		p.x.fail("line", "expected a value but found a <%s> element", p.x.name)
	}
	return nil
}

// endOf takes the end of an element that may hold nothing more.
func (p *restorer) endOf(name string) {
	word := p.x.word
	switch p.x.next() {
	case xmlOpen:
		p.x.fail("line", "expected </%s> end element but found <%s>", name, p.x.name)
	case xmlText:
		p.x.fail("line", "expected element but found text '%s'", p.x.rest)
	}
	p.x.word = word
}

// text is word for a string that has less than size bytes.
func (p *restorer) text(size int) string {
	w := p.word()
	if len(w) >= size {
		p.x.fail("", "'%s' is longer than %d", w, size)
		return ""
	}
	return string(w)
}

// refuse refuses the dump once all of it was read.
func (p *restorer) refuse(format string, args ...any) {
	if p.unusable == nil {
		p.unusable = &XMLError{Line: p.x.line, Err: fmt.Sprintf(format, args...)}
	}
}
